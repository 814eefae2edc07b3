package tensor

import (
	"fmt"
	"math"
)

// Columns are tensors of one batch, side by side: a sample's row of numbers holds its part of
// the first tensor, then that of the second, and so on. So a model's inputs, or the targets of
// its outputs, are filled from rows.
type Columns struct {
	parts []column
	width int
}

// column is a tensor and how many of its elements belong to a sample.
type column struct {
	floats []float32
	ints   []int32
	size   int
}

// NewColumns puts tensors of float32 or int32 side by side, whose first axis is the batch.
func NewColumns(tensors ...*Tensor) (Columns, error) {
	var c Columns
	for i, t := range tensors {
		if t == nil || len(t.shape) == 0 || t.dtype != Float32 && t.dtype != Int32 {
			return c, fmt.Errorf("tensor: column %d is no batch of float32 or int32", i)
		}
		p := column{t.F32(), t.I32(), t.shape[1:].Elems()}
		c.parts = append(c.parts, p)
		c.width += p.size
	}
	return c, nil
}

// Width is the number of elements in a row.
func (c Columns) Width() int { return c.width }

// Put fills the tensors from one row a sample. It fails on a number that is to be an int32 and
// is not, and allocates nothing otherwise.
func (c Columns) Put(rows []float32) error {
	if len(c.parts) == 1 && c.parts[0].floats != nil {
		copy(c.parts[0].floats, rows)
		return nil
	}
	at := 0
	for _, p := range c.parts {
		for from, to := at, 0; from < len(rows); from, to = from+c.width, to+p.size {
			if err := p.put(to, rows[from:from+p.size]); err != nil {
				return fmt.Errorf("sample %d of the batch, number %d: %w", from/c.width, at, err)
			}
		}
		at += p.size
	}
	return nil
}

// put stores a sample's part at an element.
func (p *column) put(to int, values []float32) error {
	if p.floats != nil {
		copy(p.floats[to:], values)
		return nil
	}
	for i, v := range values {
		if !(math.Abs(float64(v)) <= 1<<30) || v != float32(int32(v)) {
			return fmt.Errorf("%v is no whole number that fits", v)
		}
		p.ints[to+i] = int32(v)
	}
	return nil
}
