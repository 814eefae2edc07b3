package tensor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxElems bounds the number of elements of one tensor; a shape whose product is larger is an
// error long before memory is asked for.
const MaxElems = 1 << 33

// Shape lists a tensor's dimensions, outermost first. The empty shape is a scalar.
type Shape []int

// Check reports a negative dimension or a product that overflows MaxElems.
func (s Shape) Check() error {
	n := 1
	for i, d := range s {
		if d < 0 {
			return fmt.Errorf("tensor: shape %v: dimension %d is negative", s, i)
		}
		if d > 0 && n > MaxElems/d {
			return fmt.Errorf("tensor: shape %v has more than %d elements", s, MaxElems)
		}
		n *= d
	}
	return nil
}

// Elems is the product of the dimensions of a checked shape.
func (s Shape) Elems() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Equal reports whether both shapes have the same dimensions.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy that shares nothing with s.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// Last is the innermost dimension, 1 for a scalar.
func (s Shape) Last() int {
	if len(s) == 0 {
		return 1
	}
	return s[len(s)-1]
}

// Rows is the number of elements divided by Last: the shape seen as a matrix of rows.
func (s Shape) Rows() int {
	if len(s) == 0 {
		return 1
	}
	return Shape(s[:len(s)-1]).Elems()
}

// String prints a shape as [64 28 28 1].
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// Broadcast returns the shape that a and b have in common under NumPy's rule: dimensions are
// aligned at the end, and 1 stretches.
func Broadcast(a, b Shape) (Shape, error) {
	out := make(Shape, max(len(a), len(b)))
	for i := range out {
		da, db := dimFromEnd(a, len(out)-1-i), dimFromEnd(b, len(out)-1-i)
		switch {
		case da == db || db == 1:
			out[i] = da
		case da == 1:
			out[i] = db
		default:
			return nil, fmt.Errorf("shapes %v and %v do not broadcast: %d against %d", a, b, da, db)
		}
	}
	return out, nil
}

func dimFromEnd(s Shape, i int) int {
	if i >= len(s) {
		return 1
	}
	return s[len(s)-1-i]
}
