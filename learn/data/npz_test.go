package data

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOpenNumPysArchives(t *testing.T) {
	set, err := Open("testdata/keras.npz", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Train.Len() != 6 || set.Test.Len() != 2 || !slices.Equal(set.Train.Shape(), []int{2, 2, 1}) || len(set.Train.Classes()) != 3 {
		t.Errorf("%d and %d samples of shape %v in %d classes", set.Train.Len(), set.Test.Len(), set.Train.Shape(), len(set.Train.Classes()))
	}
	for i, v := range all(t, set.Train) {
		if v != float32(golden(i, U8))/255 {
			t.Fatalf("value %d is %v", i, v)
		}
	}
	single, err := Open("testdata/compressed.npz", Options{TestFraction: 0.4})
	if err != nil {
		t.Fatal(err)
	}
	if single.Train.Len()+single.Test.Len() != 5 || single.Train.Storage() != Float32 || !slices.Equal(single.Test.Shape(), []int{2}) {
		t.Errorf("%d and %d samples of shape %v", single.Train.Len(), single.Test.Len(), single.Train.Shape())
	}
}

func TestNPZRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arrays := []NamedArray{{"b", drawArray(t)}, {"a", drawArray(t)}}
		var buf bytes.Buffer
		if err := WriteNPZ(&buf, arrays); err != nil {
			t.Fatal(err)
		}
		z, err := ReadNPZ(bytes.NewReader(buf.Bytes()), int64(buf.Len()), "r.npz", 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(z.Names(), []string{"a", "b"}) {
			t.Fatalf("names are %v", z.Names())
		}
		for _, want := range arrays {
			got, err := z.Array(want.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !sameArray(got, want.Array) {
				t.Fatalf("%+v came back as %+v", want.Array, got)
			}
		}
	})
}

// zipOf makes an archive of files in this order.
func zipOf(t testing.TB, files ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func readNPZBytes(b []byte, limit int64) (*NPZ, error) {
	return ReadNPZ(bytes.NewReader(b), int64(len(b)), "a.npz", limit)
}

func TestWrongNPZIsNamed(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want string
	}{
		{nil, "not a readable .npz archive"},
		{[]byte("PK\x05\x06"), "not a readable .npz archive"},
		{zipOf(t, "readme.txt", "x"), "readme.txt: is not a .npy file"},
		{zipOf(t, "x.npy", "", "x.npy", ""), "x.npy: comes twice"},
	} {
		if _, err := readNPZBytes(c.in, 0); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "a.npz: ") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	z, err := readNPZBytes(zipOf(t, "x.npy", "junk"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"x": "a.npz: x.npy: at byte 0: magic string",
		"y": "a.npz: y: there is no such array; the archive holds x",
	} {
		if _, err := z.Array(key); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// zeros makes a .npy file of n zero bytes, which deflate makes a thousand times smaller.
func zeros(n int) string {
	return npyWith(fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", n), strings.Repeat("\x00", n))
}

// A small archive cannot unfold to more than the limit, over all its arrays.
func TestDeflateBombIsBounded(t *testing.T) {
	bomb := zipOf(t, "a.npy", zeros(3<<20), "b.npy", zeros(3<<20))
	if len(bomb) > 1<<16 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	z, err := readNPZBytes(bomb, 5<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Array("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Array("b"); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("got %v", err)
	}
}

func TestHugeDirectoryIsRefused(t *testing.T) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := range 3000 {
		if _, err := z.Create(fmt.Sprintf("%s%d.npy", strings.Repeat("n", 2000), i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := readNPZBytes(buf.Bytes(), 0); err == nil || !strings.Contains(err.Error(), "directory is larger") {
		t.Errorf("got %v", err)
	}
}

func TestOpenNPZRefuses(t *testing.T) {
	u8 := func(n int, shape ...int) *Array {
		a, err := NewArray(make([]uint8, n), shape...)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	f32, err := NewArray([]float32{1, 2.5}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		arrays []NamedArray
	}{
		{"holds q; want x_train and y_train", []NamedArray{{"q", u8(1, 1)}}},
		{"3 labels for the 2 samples of", []NamedArray{{"x", u8(4, 2, 2)}, {"y", u8(3, 3)}}},
		{"y.npy: label 1: 2.5 is not a whole number; labels are classes", []NamedArray{{"x", u8(4, 2, 2)}, {"y", f32}}},
		{"y.npy: labels: have shape [2 2]", []NamedArray{{"x", u8(4, 2, 2)}, {"y", u8(4, 2, 2)}}},
		{"the data set is empty", []NamedArray{{"x", u8(0, 0, 2)}, {"y", u8(0, 0)}}},
		{"there is no such array", []NamedArray{{"x_train", u8(4, 2, 2)}, {"y_train", u8(2, 2)}, {"x_test", u8(2, 1, 2)}}},
		{"sample shape: is [3] in the test split but [2] in the training split", []NamedArray{
			{"x_train", u8(4, 2, 2)}, {"y_train", u8(2, 2)}, {"x_test", u8(3, 1, 3)}, {"y_test", u8(1, 1)}}},
		{"sample shape: [2 2 2 2] has 4 dimensions", []NamedArray{{"x", u8(16, 1, 2, 2, 2, 2)}, {"y", u8(1, 1)}}},
	} {
		path := filepath.Join(t.TempDir(), "set.npz")
		var buf bytes.Buffer
		if err := WriteNPZ(&buf, c.arrays); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "set.npz") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
