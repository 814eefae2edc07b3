package data

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// small makes a uint8 data set of n samples whose values and labels follow from their place.
func small(t testing.TB, n int, shape ...int) *Bytes {
	t.Helper()
	values := make([]uint8, n*elements(shape))
	for i := range values {
		values[i] = uint8(i*37 + i/251)
	}
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(i % 3)
	}
	ds, err := NewBytes("small", values, shape, labels, []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func TestBatchGathers(t *testing.T) {
	ds := small(t, 5, 2, 2, 1)
	dst, labels := make([]float32, 3*4), make([]int32, 3)
	if err := ds.Batch(dst, labels, []int{4, 0, 4}); err != nil {
		t.Fatal(err)
	}
	for at, i := range []int{4, 0, 4} {
		for j := range 4 {
			if want := float32(ds.values[i*4+j]) / 255; dst[at*4+j] != want {
				t.Errorf("sample %d, value %d is %v, want %v", i, j, dst[at*4+j], want)
			}
		}
		if labels[at] != int32(i%3) {
			t.Errorf("label of sample %d is %d", i, labels[at])
		}
	}
}

func TestFloatsGather(t *testing.T) {
	ds, err := NewFloats("f", []float32{1, 2, 3, 4, 5, 6}, []int{2}, []int32{0, 1, 0}, []string{"x", "y"})
	if err != nil {
		t.Fatal(err)
	}
	dst, labels := make([]float32, 4), make([]int32, 2)
	if err := ds.Batch(dst, labels, []int{2, 1}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(dst, []float32{5, 6, 3, 4}) || !slices.Equal(labels, []int32{0, 1}) {
		t.Errorf("got %v %v", dst, labels)
	}
	if ds.Storage() != Float32 {
		t.Errorf("storage is %v", ds.Storage())
	}
}

func TestBadSamplesAreNamed(t *testing.T) {
	classes := []string{"a", "b"}
	for _, c := range []struct {
		want string
		make func() error
	}{
		{"mem: label 1: 2 is out of range 0 to 1", func() error {
			_, err := NewBytes("mem", make([]uint8, 2), []int{1}, []int32{0, 2}, classes)
			return err
		}},
		{"mem: label 0: -1 is out of range 0 to 1", func() error {
			_, err := NewFloats("mem", make([]float32, 1), []int{1}, []int32{-1}, classes)
			return err
		}},
		{"mem: the data set is empty", func() error {
			_, err := NewBytes("mem", nil, []int{1}, nil, classes)
			return err
		}},
		{"mem: 2 labels, but 3 values make 1.5 samples of shape [2]", func() error {
			_, err := NewBytes("mem", make([]uint8, 3), []int{2}, []int32{0, 1}, classes)
			return err
		}},
		{"mem: sample shape: [2 2] has 2 dimensions; want 1 (features) or 3 (height, width, channels)", func() error {
			_, err := NewBytes("mem", make([]uint8, 4), []int{2, 2}, []int32{0}, classes)
			return err
		}},
		{"mem: sample shape: [0] has an empty dimension", func() error {
			_, err := NewBytes("mem", nil, []int{0}, []int32{0}, classes)
			return err
		}},
		{"mem: sample shape: [4294967296 4294967296 4294967296] is too large", func() error {
			_, err := NewBytes("mem", nil, []int{1 << 32, 1 << 32, 1 << 32}, []int32{0}, classes)
			return err
		}},
		{"mem: sample 1, value 0: is not a finite number: NaN", func() error {
			_, err := NewFloats("mem", []float32{0, 0, float32(math.NaN()), 0}, []int{2}, []int32{0, 0}, classes)
			return err
		}},
		{"small: sample 5: is out of range 0 to 4", func() error {
			return small(t, 5, 1).Batch(nil, make([]int32, 1), []int{5})
		}},
		{"batch of 2 samples needs room for 2 values, got 1", func() error {
			return small(t, 5, 1).Batch(make([]float32, 1), nil, []int{0, 1})
		}},
		{"batch of 2 samples needs room for as many labels, got 1", func() error {
			return small(t, 5, 1).Batch(nil, make([]int32, 1), []int{0, 1})
		}},
	} {
		if err := c.make(); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestBatchAllocatesNothing(t *testing.T) {
	bytes := small(t, 50, 4, 4, 3)
	floats, err := NewFloats("f", make([]float32, 50*48), []int{4, 4, 3}, make([]int32, 50), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	subset, _, err := Split(bytes, 0.2, 1)
	if err != nil {
		t.Fatal(err)
	}
	norm := Norm{Mean: []float32{1, 2, 3}, Std: []float32{1, 2, 3}}
	dst, labels, indices := make([]float32, 8*48), make([]int32, 8), []int{1, 5, 9, 2, 0, 3, 7, 8}
	for _, ds := range []Dataset{bytes, floats, subset} {
		normal, err := Normalize(ds, norm)
		if err != nil {
			t.Fatal(err)
		}
		for _, ds := range []Dataset{ds, normal} {
			if n := testing.AllocsPerRun(20, func() {
				if err := ds.Batch(dst, labels, indices); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%T allocates %v times per batch", ds, n)
			}
		}
	}
}

// A split loses no sample, keeps the order, and a sample stays on its side when more come.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 300).Draw(rt, "n")
		fraction := rapid.Float64Range(0.01, 0.99).Draw(rt, "fraction")
		seed := rapid.Uint64().Draw(rt, "seed")
		a, b, err := Split(small(t, n, 1), fraction, seed)
		if err != nil {
			rt.Fatal(err)
		}
		if a.Len() == 0 || b.Len() == 0 || a.Len()+b.Len() != n {
			rt.Fatalf("%d samples split into %d and %d", n, a.Len(), b.Len())
		}
		if !slices.IsSorted(a.indices) || !slices.IsSorted(b.indices) {
			rt.Fatal("the order is lost")
		}
		all := slices.Sorted(slices.Values(slices.Concat(a.indices, b.indices)))
		for i, at := range all {
			if i != at {
				rt.Fatalf("sample %d is missing or twice", i)
			}
		}
		if n < 100 {
			return // with few samples a part may have been filled up
		}
		_, more, err := Split(small(t, n+50, 1), fraction, seed)
		if err != nil {
			rt.Fatal(err)
		}
		moved := 0
		for _, i := range b.indices {
			if !slices.Contains(more.indices, i) {
				moved++
			}
		}
		if moved > 1 {
			rt.Fatalf("%d samples changed sides when others came", moved)
		}
	})
}

// A split leaves every class in the first part, also classes of one or two samples, and something
// in the second.
func TestSplitKeepsClasses(t *testing.T) {
	labels := make([]int32, 60)
	for i := range 12 {
		labels[5*i] = int32(1 + i*2/3) // eight rare classes
	}
	names := []string{"common", "a", "b", "c", "d", "e", "f", "g", "h"}
	ds, err := NewFloats("f", make([]float32, 60), []int{1}, labels, names)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(50) {
		for _, fraction := range []float64{0.2, 0.9} {
			first, second, err := Split(ds, fraction, seed)
			if err != nil {
				t.Fatal(err)
			}
			counts, err := LabelCounts(first)
			if err != nil || slices.Min(counts) == 0 || second.Len() == 0 {
				t.Errorf("seed %d: %v to train with, %d left, %v", seed, counts, second.Len(), err)
			}
		}
	}
	two, err := NewFloats("f", []float32{1, 2}, []int{1}, []int32{0, 1}, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if first, second, err := Split(two, 0.5, 1); err != nil || first.Len() != 1 || second.Len() != 1 {
		t.Errorf("two samples: %v", err)
	}
}

func TestSplitRefusesNonsense(t *testing.T) {
	for _, f := range []float64{0, 1, -1, math.NaN()} {
		if _, _, err := Split(small(t, 5, 1), f, 0); err == nil {
			t.Errorf("fraction %v is accepted", f)
		}
	}
	if _, _, err := Split(small(t, 1, 1), 0.5, 0); err == nil {
		t.Error("one sample is split in two")
	}
	if _, err := NewSubset(small(t, 2, 1), []int{2}); err == nil {
		t.Error("a subset holds a sample that is not there")
	}
	s, err := NewSubset(small(t, 3, 1), []int{2})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Batch(nil, make([]int32, 1), []int{1}); err == nil {
		t.Error("a batch holds a sample that the subset has not")
	}
}

func TestInputErrorNamesThePlace(t *testing.T) {
	cause := errors.New("is odd")
	for want, e := range map[string]*InputError{
		"f.csv:3:7: column b: is odd": {File: "f.csv", Line: 3, Column: 7, Offset: -1, Field: "column b", Err: cause},
		"f.csv:3: is odd":             {File: "f.csv", Line: 3, Offset: -1, Err: cause},
		"f: at byte 4: dims: is odd":  {File: "f", Offset: 4, Field: "dims", Err: cause},
		"f: is odd":                   {File: "f", Offset: -1, Err: cause},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e, want)
		}
		if !e.BadInput() || !errors.Is(e, cause) {
			t.Error("the error does not tell its kind or cause")
		}
	}
	if !strings.Contains(Storage(7).String(), "7") {
		t.Error("an unknown storage is not shown")
	}
}
