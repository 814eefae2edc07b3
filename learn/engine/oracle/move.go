package oracle

import (
	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

func transpose(c *call) error {
	perm := c.attr().(graph.PermAttr).Perm
	from := make([]int, len(perm))
	i := 0
	each(c.out[0].shape(), func(at []int) {
		for k, p := range perm {
			from[p] = at[k]
		}
		c.out[0].f[i] = c.in[0].f[index(from, c.in[0].shape())]
		i++
	})
	return nil
}

// index is the offset of an index in its own shape.
func index(at, shape []int) int {
	off := 0
	for k, d := range shape {
		off = off*d + at[k]
	}
	return off
}

func slice(c *call) error {
	start := c.attr().(graph.SliceAttr).Start
	from := make([]int, len(start))
	i := 0
	each(c.out[0].shape(), func(at []int) {
		for k := range at {
			from[k] = at[k] + start[k]
		}
		c.out[0].f[i] = c.in[0].f[index(from, c.in[0].shape())]
		i++
	})
	return nil
}

func pad(c *call) error {
	a := c.attr().(graph.PadAttr)
	y := c.out[0]
	for i := range y.f {
		y.f[i] = float64(a.Value)
	}
	to := make([]int, len(a.Before))
	i := 0
	each(c.in[0].shape(), func(at []int) {
		for k := range at {
			to[k] = at[k] + a.Before[k]
		}
		y.f[index(to, y.shape())] = c.in[0].f[i]
		i++
	})
	return nil
}

func concat(c *call) error {
	axis, start := c.attr().(graph.AxisAttr).Axis, 0
	y := c.out[0]
	for _, x := range c.in {
		i := 0
		each(x.shape(), func(at []int) {
			at[axis] += start
			y.f[index(at, y.shape())] = x.f[i]
			at[axis] -= start
			i++
		})
		start += x.shape()[axis]
	}
	return nil
}

func gather(c *call) error {
	table, rows, y := c.in[0], c.in[1].i, c.out[0]
	limit := table.shape()[0]
	width := table.shape()[1:].Elems()
	for r, row := range rows {
		if row < 0 || int(row) >= limit {
			return &engine.RangeError{What: "row", At: r, Value: int(row), Limit: limit}
		}
		copy(y.f[r*width:(r+1)*width], table.f[int(row)*width:])
	}
	return nil
}

func scatterAdd(c *call) error {
	rows, x, y := c.in[0].i, c.in[1], c.out[0]
	limit := y.shape()[0]
	width := y.shape()[1:].Elems()
	clear(y.f)
	for r, row := range rows {
		if row < 0 || int(row) >= limit {
			return &engine.RangeError{What: "row", At: r, Value: int(row), Limit: limit}
		}
		for k := range width {
			y.f[int(row)*width+k] += x.f[r*width+k]
		}
	}
	return nil
}
