package oracle

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

func matmul(c *call) error {
	a := c.attr().(graph.MatMulAttr)
	x, w, y := c.in[0], c.in[1], c.out[0]
	m, n := y.shape()[0], y.shape()[1]
	k := x.shape()[1]
	if a.TransA {
		k = x.shape()[0]
	}
	for i := range m {
		for j := range n {
			sum := 0.0
			for p := range k {
				sum += x.f[at2(x, a.TransA, i, p)] * w.f[at2(w, a.TransB, p, j)]
			}
			y.f[i*n+j] = sum
		}
	}
	finish(c, a.Fused)
	return nil
}

// at2 is the offset of element i, j of a matrix that is stored transposed when trans is set.
func at2(m *array, trans bool, i, j int) int {
	if trans {
		i, j = j, i
	}
	return i*m.shape()[1] + j
}

// finish applies what is fused to a product's bare result: bias, residual, activation, mask.
func finish(c *call, f graph.Fused) {
	extra, y := c.in[2:], c.out[0]
	cols := y.shape().Last()
	if f.Bias {
		for i := range y.f {
			y.f[i] += extra[0].f[i%cols]
		}
		extra = extra[1:]
	}
	if f.Residual {
		for i := range y.f {
			y.f[i] += extra[0].f[i]
		}
		extra = extra[1:]
	}
	if f.Act == graph.ReLU {
		for i := range y.f {
			y.f[i] = relu(y.f[i])
		}
	}
	if f.Mask {
		maskBy(y.f, extra[0].f)
	}
}

// maskBy zeroes the elements whose mask is not positive.
func maskBy(y, mask []float64) {
	for i := range y {
		if !(mask[i] > 0) {
			y[i] = 0
		}
	}
}

// tap is one pair of pixels that a convolution's filter tap connects: the offsets of the first
// channel of the input pixel, of the tap's filter matrix, and of the output pixel.
type tap struct{ x, w, y int }

// eachTap calls f for every tap that lies on the input, x and w being the shapes of the input
// and the filter, y that of the output.
func eachTap(a graph.ConvAttr, x, w, y tensor.Shape, f func(t tap)) {
	each(tensor.Shape{y[0], y[1], y[2], w[0], w[1]}, func(at []int) {
		n, oh, ow, kh, kw := at[0], at[1], at[2], at[3], at[4]
		ih := oh*a.Stride[0] + kh*a.Dilation[0] - a.Pad[0]
		iw := ow*a.Stride[1] + kw*a.Dilation[1] - a.Pad[2]
		if ih < 0 || ih >= x[1] || iw < 0 || iw >= x[2] {
			return
		}
		f(tap{
			x: ((n*x[1]+ih)*x[2] + iw) * x[3],
			w: (kh*w[1] + kw) * w[2] * w[3],
			y: ((n*y[1]+oh)*y[2] + ow) * y[3],
		})
	})
}

// eachChannel calls f for every input channel ic of every group with what it connects to: the
// group's output channels lo to hi, and row, the place of its weights in the tap's matrix.
func eachChannel(groups int, w tensor.Shape, f func(ic, lo, hi, row int)) {
	perGroup := w[3] / groups
	for g := range groups {
		for c := range w[2] {
			f(g*w[2]+c, g*perGroup, (g+1)*perGroup, c*w[3])
		}
	}
}

func conv2d(c *call) error {
	a := c.attr().(graph.ConvAttr)
	x, w, y := c.in[0], c.in[1], c.out[0]
	clear(y.f)
	eachTap(a, x.shape(), w.shape(), y.shape(), func(t tap) {
		eachChannel(a.Groups, w.shape(), func(ic, lo, hi, row int) {
			for oc := lo; oc < hi; oc++ {
				y.f[t.y+oc] += x.f[t.x+ic] * w.f[t.w+row+oc]
			}
		})
	})
	finish(c, a.Fused)
	return nil
}

func convGradX(c *call) error {
	a := c.attr().(graph.ConvAttr)
	dy, w, dx := c.in[0], c.in[1], c.out[0]
	clear(dx.f)
	eachTap(a, dx.shape(), w.shape(), dy.shape(), func(t tap) {
		eachChannel(a.Groups, w.shape(), func(ic, lo, hi, row int) {
			for oc := lo; oc < hi; oc++ {
				dx.f[t.x+ic] += dy.f[t.y+oc] * w.f[t.w+row+oc]
			}
		})
	})
	finish(c, a.Fused)
	return nil
}

func convGradW(c *call) error {
	a := c.attr().(graph.ConvAttr)
	x, dy, dw := c.in[0], c.in[1], c.out[0]
	clear(dw.f)
	eachTap(a, x.shape(), dw.shape(), dy.shape(), func(t tap) {
		eachChannel(a.Groups, dw.shape(), func(ic, lo, hi, row int) {
			for oc := lo; oc < hi; oc++ {
				dw.f[t.w+row+oc] += x.f[t.x+ic] * dy.f[t.y+oc]
			}
		})
	})
	return nil
}
