package data

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// golden gives the value that testdata/make_numpy.py puts at place i.
func golden(i int, t DType) float64 {
	if t == U8 || t == U16 || t == U32 {
		return float64(7 * i % 50)
	}
	return float64(7*i%50 - 20)
}

// What NumPy wrote is read as NumPy has it: every type, byte order, axis order and version.
func TestReadNumPysFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*-*.npy")
	if err != nil || len(files) != 26 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range append(files, "testdata/version2.npy", "testdata/version3.npy", "testdata/scalar.npy") {
		a, err := readNPYFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.Contains(file, "-") && !slices.Equal(a.Shape, []int{2, 3, 4}) {
			t.Errorf("%s has shape %v", file, a.Shape)
		}
		for i := range a.Len() {
			if a.Float(i) != golden(i, a.Type) {
				t.Errorf("%s: element %d is %v, want %v", file, i, a.Float(i), golden(i, a.Type))
			}
		}
	}
}

func TestTruthsAreNumbers(t *testing.T) {
	a, err := readNPYFile("testdata/truths.npy")
	if err != nil || a.Type != U8 || !slices.Equal(a.Data, []byte{0, 1, 0, 1, 0, 1}) {
		t.Errorf("%+v, %v", a, err)
	}
}

func readNPYFile(name string) (*Array, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return ReadNPY(bytes.NewReader(b), name, 0)
}

func TestArraysThatAreNotNumbers(t *testing.T) {
	for name, want := range map[string]string{
		"objects": "arrays of Python objects are not read",
		"records": "records with several fields cannot be read",
		"complex": `element type "<c8" cannot be read`,
	} {
		_, err := readNPYFile("testdata/" + name + ".npy")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name+".npy") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// drawArray draws a small array of a type that all formats can hold, or of one more.
func drawArray(t *rapid.T, more ...DType) *Array {
	a := &Array{Type: rapid.SampledFrom(append([]DType{U8, I8, I16, I32, F32, F64}, more...)).Draw(t, "type")}
	a.Shape = rapid.SliceOfN(rapid.IntRange(0, 4), 1, 4).Draw(t, "shape")
	n := a.Len() * a.Type.Size()
	a.Data = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
	return a
}

func sameArray(a, b *Array) bool {
	return a.Type == b.Type && slices.Equal(a.Shape, b.Shape) && bytes.Equal(a.Data, b.Data)
}

func TestNPYRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawArray(t, I64, U16, U32)
		var buf bytes.Buffer
		if err := WriteNPY(&buf, a); err != nil {
			t.Fatal(err)
		}
		if start := buf.Len() - len(a.Data); start%64 != 0 {
			t.Fatalf("the elements begin at byte %d", start)
		}
		b, err := ReadNPY(&buf, "round.npy", 0)
		if err != nil {
			t.Fatal(err)
		}
		if !sameArray(a, b) {
			t.Fatalf("%+v came back as %+v", a, b)
		}
	})
}

// npyWith makes a .npy file of a header text and data.
func npyWith(header, data string) string {
	return npyMagic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + data
}

func TestWrongNPYIsNamed(t *testing.T) {
	head := func(s string) string { return npyWith(s, "") }
	const f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': "
	for _, c := range []struct{ in, want string }{
		{"", "at byte 0: magic string"},
		{"\x93NUMPZ\x01\x00", "at byte 0: magic string"},
		{npyMagic + "\x04\x00", "at byte 6: version: 4.0 is not known"},
		{npyMagic + "\x01\x00\x09", "at byte 8: header length: the file ends here"},
		{npyMagic + "\x02\x00\xff\xff\xff\x7f", "at byte 8: header length: 2147483647 bytes are over the limit"},
		{npyMagic + "\x01\x00\x09\x00{", "at byte 10: header: the file ends inside it"},
		{head(f4 + "(2,)}"), "data: the file ends here: the header promises 8 bytes of data, there are 0"},
		{npyWith(f4+"(1,)}", "12345"), "at byte 69: end: there are more bytes than the header promises"},
		{head(f4 + "(4294967296, 4294967296)}"), "dimensions: the product of [4294967296 4294967296] overflows"},
		{head(f4 + "(99999999999999999999,)}"), "want a dimension"},
		{head(f4 + "(-1,)}"), "want a dimension"},
		{head(f4 + "(1099511627776,)}"), "over the limit of 4294967296"},
		{head(f4 + "(" + strings.Repeat("1,", 65) + ")}"), "more than 64 dimensions"},
		{head(f4 + "(2 3)}"), "want , or )"},
		{head(f4 + "(2,), 'x': 1}"), `unknown key "x"`},
		{head(f4 + "(2,), 'shape': (2,)}"), `key "shape" comes twice`},
		{head("{'descr': '<f4', 'shape': (2,)}"), "descr, fortran_order or shape is missing"},
		{head("{'descr': '<f4' 'shape': (2,)}"), "want , or }"},
		{head("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"), "want True or False"},
		{head("{'descr': '<f4"), "a quoted string does not end"},
		{head("{'descr': 4}"), "want a quoted string"},
		{head("[]"), `want "{"`},
		{head(f4 + "(2,)} x"), `unexpected "x"`},
		{head(""), `want "{"`},
	} {
		_, err := ReadNPY(strings.NewReader(c.in), "a.npy", 0)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "a.npy: at byte") {
			t.Errorf("%q: got %v, want %s", c.in, err, c.want)
		}
	}
}

func TestArrayConversions(t *testing.T) {
	a, err := NewArray([]int64{0, -5, 1 << 40}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.wholeNumbers("l"); err != nil || !slices.Equal(got, []int64{0, -5, 1 << 40}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := a.Rows(2).wholeNumbers("l"); err != nil || !slices.Equal(got, []int64{0, -5}) {
		t.Errorf("got %v, %v", got, err)
	}
	f, err := NewArray([]float32{1.5, -2}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Floats(), []float32{1.5, -2}) {
		t.Errorf("got %v", f.Floats())
	}
	for i, v := range []float32{1.5, float32(math.NaN()), float32(math.Inf(1)), 1 << 60} {
		f, err := NewArray([]float32{3, -2, v}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Rows(2).wholeNumbers("l"); err != nil || !slices.Equal(got, []int64{3, -2}) {
			t.Errorf("got %v, %v", got, err)
		}
		if _, err := f.wholeNumbers("l"); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("l: label 2: %v is not a whole number; labels are classes", float64(v))) {
			t.Errorf("case %d: got %v", i, err)
		}
	}
	if _, err := NewArray([]uint8{1, 2}, 3); err == nil {
		t.Error("two values make three")
	}
}
