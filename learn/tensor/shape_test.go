package tensor_test

import (
	"math"
	"testing"

	"millrace.dev/learn/tensor"
	"pgregory.net/rapid"
)

func TestShapeCheck(t *testing.T) {
	for _, c := range []struct {
		shape tensor.Shape
		ok    bool
	}{
		{nil, true}, {tensor.Shape{}, true}, {tensor.Shape{0}, true}, {tensor.Shape{3, 4}, true}, {tensor.Shape{-1}, false},
		{tensor.Shape{3, -4, 2}, false}, {tensor.Shape{1 << 33}, true}, {tensor.Shape{1<<33 + 1}, false}, {tensor.Shape{1 << 17, 1 << 17}, false},
		{tensor.Shape{math.MaxInt, math.MaxInt}, false}, {tensor.Shape{math.MaxInt, 2, 0}, false}, {tensor.Shape{1 << 32, 1 << 32}, false},
		{tensor.Shape{0, 1 << 40}, true}, {tensor.Shape{math.MinInt}, false},
	} {
		if err := c.shape.Check(); (err == nil) != c.ok {
			t.Errorf("Check of %v: %v", c.shape, err)
		}
	}
}

func TestShapeSizes(t *testing.T) {
	for _, c := range []struct {
		shape             tensor.Shape
		elems, rows, last int
		text              string
	}{
		{tensor.Shape{}, 1, 1, 1, "[]"},
		{tensor.Shape{5}, 5, 1, 5, "[5]"},
		{tensor.Shape{2, 3, 4}, 24, 6, 4, "[2 3 4]"},
		{tensor.Shape{2, 0, 4}, 0, 0, 4, "[2 0 4]"},
		{tensor.Shape{3, 0}, 0, 3, 0, "[3 0]"},
	} {
		s := c.shape
		if s.Elems() != c.elems || s.Rows() != c.rows || s.Last() != c.last || s.String() != c.text {
			t.Errorf("%v: %d elements, %d rows of %d", s, s.Elems(), s.Rows(), s.Last())
		}
		clone := s.Clone()
		if !clone.Equal(s) {
			t.Errorf("clone of %v is %v", s, clone)
		}
		if len(clone) > 0 {
			clone[0]++
			if clone.Equal(s) {
				t.Errorf("the clone of %v shares its memory", s)
			}
		}
	}
}

func TestBroadcast(t *testing.T) {
	for _, c := range []struct{ a, b, want tensor.Shape }{
		{tensor.Shape{}, tensor.Shape{}, tensor.Shape{}},
		{tensor.Shape{3}, tensor.Shape{}, tensor.Shape{3}},
		{tensor.Shape{2, 3}, tensor.Shape{3}, tensor.Shape{2, 3}},
		{tensor.Shape{2, 1}, tensor.Shape{1, 3}, tensor.Shape{2, 3}},
		{tensor.Shape{0}, tensor.Shape{1}, tensor.Shape{0}},
		{tensor.Shape{2}, tensor.Shape{3}, nil},
		{tensor.Shape{0}, tensor.Shape{2}, nil},
		{tensor.Shape{2, 3}, tensor.Shape{2}, nil},
	} {
		for _, s := range [][2]tensor.Shape{{c.a, c.b}, {c.b, c.a}} {
			got, err := tensor.Broadcast(s[0], s[1])
			if (err == nil) != (c.want != nil) || err == nil && !got.Equal(c.want) {
				t.Errorf("Broadcast(%v, %v) is %v, %v", s[0], s[1], got, err)
			}
		}
	}
}

// TestCheckBoundsElems wants every shape that passes to have a product that fits.
func TestCheckBoundsElems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(-1, 1<<20), 0, 5).Draw(t, "shape")
		product := 1.0
		negative := false
		for _, d := range dims {
			product *= float64(d)
			negative = negative || d < 0
		}
		s := tensor.Shape(dims)
		if s.Check() == nil && (negative || float64(s.Elems()) != product || s.Elems() > tensor.MaxElems) {
			t.Fatalf("%v passes with %d elements", s, s.Elems())
		}
		if s.Check() != nil && !negative && product == 0 {
			return // an early factor may be too large by itself
		}
		if s.Check() != nil && !negative && product <= tensor.MaxElems {
			t.Fatalf("%v does not pass: %v", s, s.Check())
		}
	})
}
