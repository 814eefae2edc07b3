package bundle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"millrace.dev/learn/tensor"
)

func sample() *File {
	return &File{Kind: "test", Meta: []byte(`{"a":1}`), Tensors: []Tensor{
		{"w", tensor.Shape{2, 3}, []float32{1, -2, float32(math.Inf(1)), 0, 5, 1e-40}},
		{"nothing", tensor.Shape{0, 4}, nil},
		{"scalar", tensor.Shape{}, []float32{7}},
		{"long", tensor.Shape{40000}, make([]float32, 40000)},
	}}
}

func written(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(text []byte) (*File, error) { return Read(bytes.NewReader(text), int64(len(text))) }

func TestRoundTrip(t *testing.T) {
	text := written(t, sample())
	f, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written(t, f), text) || f.Kind != "test" || string(f.Meta) != `{"a":1}` || len(f.Tensors) != 4 {
		t.Errorf("read %+v", f)
	}
	for i, want := range sample().Tensors {
		got := f.Tensors[i]
		if got.Name != want.Name || !got.Shape.Equal(want.Shape) || len(want.Data) > 0 && !reflect.DeepEqual(got.Data, want.Data) {
			t.Errorf("tensor %d is %q %v", i, got.Name, got.Shape)
		}
	}
}

func TestRoundTripOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{Kind: rapid.StringMatching(`[a-z]+`).Draw(t, "kind"), Meta: []byte(`null`)}
		for i := range rapid.IntRange(0, 5).Draw(t, "tensors") {
			data := rapid.SliceOfN(rapid.Float32(), 0, 100).Draw(t, "data")
			f.Tensors = append(f.Tensors, Tensor{fmt.Sprint(i), tensor.Shape{len(data)}, data})
		}
		var b bytes.Buffer
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
		got, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range got.Tensors {
			for k, v := range x.Data {
				if math.Float32bits(v) != math.Float32bits(f.Tensors[i].Data[k]) {
					t.Fatalf("tensor %d, element %d: %v", i, k, v)
				}
			}
		}
	})
}

func TestWriteChecksShapes(t *testing.T) {
	for _, bad := range []Tensor{{"x", tensor.Shape{3}, make([]float32, 2)}, {"x", tensor.Shape{-1}, nil}} {
		if err := Write(&bytes.Buffer{}, &File{Tensors: []Tensor{bad}}); err == nil {
			t.Errorf("%v with %d numbers was written", bad.Shape, len(bad.Data))
		}
	}
}

// TestEveryDamageIsNoticed flips each bit of a small file, and cuts it everywhere.
func TestEveryDamageIsNoticed(t *testing.T) {
	f := sample()
	f.Tensors = f.Tensors[:3]
	text := written(t, f)
	var format *FormatError
	for i := range text {
		for bit := range 8 {
			damaged := bytes.Clone(text)
			damaged[i] ^= 1 << bit
			if _, err := read(damaged); err == nil {
				t.Fatalf("bit %d of byte %d was flipped unnoticed", bit, i)
			} else if !errors.As(err, &format) {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
		if _, err := read(text[:i]); !errors.As(err, &format) {
			t.Fatalf("a file of %d bytes: %v", i, err)
		}
	}
	if _, err := read(append(text, 0)); !errors.As(err, &format) {
		t.Errorf("a byte more: %v", err)
	}
}

// forged is a file with any header and a valid checksum.
func forged(header string, length int) []byte {
	text := binary.LittleEndian.AppendUint32([]byte(magic), version)
	text = binary.LittleEndian.AppendUint32(text, uint32(length))
	text = append(text, header...)
	text = append(text, make([]byte, padding(len(text)))...)
	return binary.LittleEndian.AppendUint64(text, xxh3.Hash(text))
}

// TestHostileHeaders claims sizes that the file does not have.
func TestHostileHeaders(t *testing.T) {
	for header, want := range map[string]string{
		`{"tensors":[{"name":"x","shape":[4611686018427387904]}]}`:              "elements",
		`{"tensors":[{"name":"x","shape":[2147483648,2147483648,2147483648]}]}`: "elements",
		`{"tensors":[{"name":"x","shape":[8589934592]}]}`:                       "ends before",
		`{"tensors":[{"name":"x","shape":[-5]}]}`:                               "negative",
		`{"tensors":[{"name":"x","shape":[1]}]}`:                                "ends before",
		`{"tensors":[{"name":"x","shape":[9223372036854775808]}]}`:              "no JSON",
		`{"tensors":{}}`: "no JSON",
		`nonsense`:       "no JSON",
	} {
		_, err := read(forged(header, len(header)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", header, err, want)
		}
	}
	if _, err := read(forged("{}", math.MaxUint32)); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("a header of 4 GiB: %v", err)
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, written(t, sample()), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err := ReadFile(path); err != nil || f.Kind != "test" {
		t.Errorf("%+v, %v", f, err)
	}
	if err := VerifyFile(path); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	var format *FormatError
	if err := VerifyFile(path); !errors.As(err, &format) {
		t.Errorf("a short file: %v", err)
	}
	if _, err := ReadFile(filepath.Dir(path)); !errors.As(err, &format) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	small := sample()
	small.Tensors = small.Tensors[:3]
	f.Add(written(f, small))
	f.Add(forged(`{"kind":"x","tensors":[{"name":"x","shape":[0]}]}`, 50))
	f.Fuzz(func(t *testing.T, text []byte) {
		// A valid checksum lets the fuzzer past the last check.
		if n := len(text) - 8; n > 0 {
			binary.LittleEndian.PutUint64(text[n:], xxh3.Hash(text[:n]))
		}
		got, err := read(text)
		if err != nil {
			return
		}
		total := 0
		for _, x := range got.Tensors {
			total += 4 * len(x.Data)
		}
		if total > len(text) {
			t.Fatalf("%d bytes of tensors from a file of %d", total, len(text))
		}
	})
}
