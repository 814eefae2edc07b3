package tensor

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func mustNew(t *testing.T, d DType, shape ...int) *Tensor {
	t.Helper()
	x, err := New(d, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestColumns(t *testing.T) {
	a, b, c := mustNew(t, Float32, 2, 2, 1), mustNew(t, Int32, 2), mustNew(t, Float32, 2, 1)
	cols, err := NewColumns(a, b, c)
	if err != nil || cols.Width() != 4 {
		t.Fatalf("width %d, %v", cols.Width(), err)
	}
	rows := []float32{1, 2, 3, 4, 5, 6, -7, 8}
	if err := cols.Put(rows); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.F32(), []float32{1, 2, 5, 6}) || !slices.Equal(b.I32(), []int32{3, -7}) || !slices.Equal(c.F32(), []float32{4, 8}) {
		t.Errorf("%v %v %v", a.F32(), b.I32(), c.F32())
	}
	if n := testing.AllocsPerRun(10, func() { _ = cols.Put(rows) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, bad := range []float32{0.5, 1 << 31, float32(math.NaN()), float32(math.Inf(-1))} {
		err := cols.Put([]float32{1, 2, 3, 4, 5, 6, bad, 8})
		if err == nil || !strings.Contains(err.Error(), "sample 1 of the batch, number 2: ") {
			t.Errorf("%v as an index: %v", bad, err)
		}
	}
	one, err := NewColumns(c)
	if err != nil || one.Put([]float32{9, 10}) != nil || !slices.Equal(c.F32(), []float32{9, 10}) {
		t.Errorf("a single column: %v, %v", c.F32(), err)
	}
	for _, x := range []*Tensor{nil, mustNew(t, Float32), mustNew(t, Uint8, 2, 2)} {
		if _, err := NewColumns(a, x); err == nil || !strings.Contains(err.Error(), "column 1") {
			t.Errorf("got %v", err)
		}
	}
}
