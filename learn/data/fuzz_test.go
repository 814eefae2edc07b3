package data

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzLimit stands for the memory that a user allows; it bounds what a small compressed
// input may honestly unfold to.
const fuzzLimit = 1 << 20

// bound fails when reading allocates more in all than four times the input (or, where it
// is compressed, the limit) and what the decoders need at any rate.
func bound(t *testing.T, input int, compressed bool, read func()) {
	t.Helper()
	allow := uint64(4*input) + 1<<20
	if compressed {
		allow += 4 * fuzzLimit
	}
	if got := allocated(read); got > allow {
		t.Errorf("%d bytes are allocated for an input of %d", got, input)
	}
}

// sound fails when an array does not hold what its header says.
func sound(t *testing.T, a *Array) {
	t.Helper()
	if n, ok := product(a.Shape, a.Type.Size()); !ok || n*a.Type.Size() != len(a.Data) {
		t.Errorf("%v of shape %v in %d bytes", a.Type, a.Shape, len(a.Data))
	}
}

func FuzzIDX(f *testing.F) {
	whole := idxBytes(f, &Array{Type: U8, Shape: []int{2, 3}, Data: make([]byte, 6)})
	f.Add(whole)
	f.Add(gz(f, whole))
	f.Add(idxBytes(f, &Array{Type: F64, Shape: []int{1}, Data: make([]byte, 8)}))
	f.Add([]byte("\x00\x00\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x08\x01\x00\x0f\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		compressed := bytes.HasPrefix(b, []byte("\x1f\x8b"))
		bound(t, len(b), compressed, func() {
			a, err := ReadIDX(bytes.NewReader(b), "f", fuzzLimit)
			if err != nil {
				return
			}
			sound(t, a)
			if !compressed && !bytes.Equal(idxBytes(t, a), b) {
				t.Error("written otherwise than read")
			}
		})
	})
}

func FuzzNPY(f *testing.F) {
	files, err := filepath.Glob("testdata/*.npy")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(npyWith("{'descr': '<f8', 'fortran_order': True, 'shape': (0, 4294967295), }", "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		bound(t, len(b), false, func() {
			if a, err := ReadNPY(bytes.NewReader(b), "f", fuzzLimit); err == nil {
				sound(t, a)
			}
		})
	})
}

func FuzzNPZ(f *testing.F) {
	for _, name := range []string{"testdata/keras.npz", "testdata/compressed.npz"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(zipOf(f, "x.npy", zeros(1<<10), "y.npy", "junk"))
	f.Fuzz(func(t *testing.T, b []byte) {
		bound(t, len(b), true, func() {
			z, err := ReadNPZ(bytes.NewReader(b), int64(len(b)), "f", fuzzLimit)
			if err != nil {
				return
			}
			for i, key := range z.Names() {
				if i == 8 {
					break
				}
				if a, err := z.Array(key); err == nil {
					sound(t, a)
				}
			}
		})
	})
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b,label\n1,2,x\n3,4,y\n", "")
	f.Add("\xef\xbb\xbf1;2;0\n\"3\";4;1\n", "1")
	f.Add("1\t2\t\"x\ny\"\n", "label")
	f.Add(strings.Repeat("1,", 500)+"2\n", "")
	f.Fuzz(func(t *testing.T, in, label string) {
		bound(t, len(in)+len(label), true, func() {
			got, err := ReadCSV(strings.NewReader(in), "f", label, fuzzLimit)
			if err != nil {
				return
			}
			if len(got.Values) != len(got.Labels)*len(got.Columns) || len(got.Labels) == 0 {
				t.Errorf("%d values, %d labels, %d columns", len(got.Values), len(got.Labels), len(got.Columns))
			}
			if err := checkLabels("f", got.Labels, len(got.Classes)); err != nil {
				t.Error(err)
			}
			for _, v := range got.Values {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Errorf("a value is %v", v)
				}
			}
		})
	})
}
