package oracle

import (
	"math"
	"slices"

	"millrace.dev/learn/graph"
)

func reduce(c *call) error {
	a := c.attr().(graph.ReduceAttr)
	x, y := c.in[0], c.out[0]
	start := 0.0
	if a.Kind == graph.RMax {
		start = math.Inf(-1)
	}
	for i := range y.f {
		y.f[i] = start
	}
	terms, i := 1, 0
	for _, ax := range a.Axes {
		terms *= x.shape()[ax]
	}
	each(x.shape(), func(at []int) {
		to := 0
		for k, d := range x.shape() {
			if !slices.Contains(a.Axes, k) {
				to = to*d + at[k]
			}
		}
		if a.Kind == graph.RMax {
			y.f[to] = combine(graph.Max, y.f[to], x.f[i])
		} else {
			y.f[to] += x.f[i]
		}
		i++
	})
	if a.Kind == graph.RMean {
		for i := range y.f {
			y.f[i] /= float64(terms)
		}
	}
	return nil
}

func broadcast(c *call) error {
	i := 0
	each(c.out[0].shape(), func(at []int) {
		c.out[0].f[i] = c.in[0].f[offset(at, c.in[0].shape())]
		i++
	})
	return nil
}
