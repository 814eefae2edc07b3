package oracle

import (
	"math"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// eachPixel calls f for every pixel that lies under a window: the output element's offset, the
// input element's, and the tap's number in the window. x is the input's shape, y the output's.
func eachPixel(a graph.PoolAttr, x, y tensor.Shape, f func(to, from, tap int)) {
	to := 0
	each(y, func(at []int) {
		for kh := range a.Taps[0] {
			for kw := range a.Taps[1] {
				ih := at[1]*a.Stride[0] + kh*a.Dilation[0] - a.Pad[0]
				iw := at[2]*a.Stride[1] + kw*a.Dilation[1] - a.Pad[2]
				if ih >= 0 && ih < x[1] && iw >= 0 && iw < x[2] {
					f(to, ((at[0]*x[1]+ih)*x[2]+iw)*x[3]+at[3], kh*a.Taps[1]+kw)
				}
			}
		}
		to++
	})
}

// maxPool takes the first of equal maxima; the first NaN beats every number.
func maxPool(c *call) error {
	x, y, best := c.in[0], c.out[0].f, c.out[1].u
	for i := range y {
		y[i], best[i] = math.Inf(-1), noTap
	}
	eachPixel(c.attr().(graph.PoolAttr), x.shape(), c.out[0].shape(), func(to, from, tap int) {
		v := x.f[from]
		if best[to] == noTap || v > y[to] || math.IsNaN(v) && !math.IsNaN(y[to]) {
			y[to], best[to] = v, uint8(tap)
		}
	})
	return nil
}

// noTap marks a window that has met no pixel yet; windows have at most 255 taps.
const noTap = 255

func maxPoolGrad(c *call) error {
	a := c.attr().(graph.PoolAttr)
	dy, best, dx := c.in[0], c.in[1].u, c.out[0]
	clear(dx.f)
	eachPixel(a, dx.shape(), dy.shape(), func(from, to, tap int) {
		if int(best[from]) == tap {
			dx.f[to] += dy.f[from]
		}
	})
	if a.Mask {
		maskBy(dx.f, c.in[2].f)
	}
	return nil
}

// windowSizes is what the sum under each window is divided by.
func windowSizes(a graph.PoolAttr, x, y tensor.Shape) []float64 {
	n := make([]float64, y.Elems())
	if a.CountPad {
		for i := range n {
			n[i] = float64(a.Taps[0] * a.Taps[1])
		}
		return n
	}
	eachPixel(a, x, y, func(to, _, _ int) { n[to]++ })
	return n
}

func avgPool(c *call) error {
	a := c.attr().(graph.PoolAttr)
	x, y := c.in[0], c.out[0]
	size := windowSizes(a, x.shape(), y.shape())
	clear(y.f)
	eachPixel(a, x.shape(), y.shape(), func(to, from, _ int) { y.f[to] += x.f[from] / size[to] })
	return nil
}

func avgPoolGrad(c *call) error {
	a := c.attr().(graph.PoolAttr)
	dy, dx := c.in[0], c.out[0]
	size := windowSizes(a, dx.shape(), dy.shape())
	clear(dx.f)
	eachPixel(a, dx.shape(), dy.shape(), func(from, to, _ int) { dx.f[to] += dy.f[from] / size[from] })
	return nil
}
