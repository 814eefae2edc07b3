package cpu

import (
	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
)

func lowerSoftmax(_ *compiler, n *graph.Node) (*op, error) {
	f := vec.Softmax
	if n.Op == "log_softmax" {
		f = vec.LogSoftmax
	}
	return &op{kernel: n.Op, inPlace: []int{0}, bind: func(b *binding) bound {
		rows, cols := n.In[0].Shape().Rows(), n.In[0].Shape().Last()
		x, y := b.f32(n.In[0]), b.f32(n.Out[0])
		return bound{phases: over(rows, cols, func(lo, hi int) { f(y[lo*cols:], x[lo*cols:], hi-lo, cols) })}
	}}, nil
}

func lowerSoftmaxGrad(_ *compiler, n *graph.Node) (*op, error) {
	f := vec.SoftmaxGrad
	if n.Op == "log_softmax_grad" {
		f = vec.LogSoftmaxGrad
	}
	return &op{kernel: n.Op, bind: func(b *binding) bound {
		rows, cols := n.In[0].Shape().Rows(), n.In[0].Shape().Last()
		dy, y, dx := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.Out[0])
		return bound{phases: over(rows, cols, func(lo, hi int) {
			f(dx[lo*cols:hi*cols], dy[lo*cols:hi*cols], y[lo*cols:hi*cols], hi-lo, cols)
		})}
	}}, nil
}

func lowerXent(c *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.XentAttr)
	rows, cols := n.In[0].Shape().Rows(), n.In[0].Shape().Last()
	wantGrad := c.uses[n.Out[1]] > 0
	return &op{kernel: "softmax_xent", shared: rows, bind: func(b *binding) bound {
		x, labels, loss, each := b.f32(n.In[0]), b.i32(n.In[1]), b.f32(n.Out[0]), b.work()
		var dx []float32
		if wantGrad {
			dx = b.f32(n.Out[1])
		}
		target := vec.Target{Smoothing: a.Smoothing, Ignore: a.Ignore}
		valid, bad := 0, -1
		return bound{
			phases: []phase{
				finish(func() { valid, bad = vec.CountLabels(labels, cols, a.Ignore) }),
				chunked(rows, cols, func(_, lo, hi int) {
					if bad < 0 {
						vec.CrossEntropy(each[lo:hi], from(dx, lo*cols), x[lo*cols:hi*cols], labels[lo:hi], cols, target, 1/float32(max(valid, 1)))
					}
				}),
				finish(func() { loss[0] = float32(vec.Sum(each) / float64(max(valid, 1))) }),
			},
			check: func() error {
				if bad >= 0 {
					return &engine.RangeError{What: "label", At: bad, Value: int(labels[bad]), Limit: cols}
				}
				return finiteCheck("loss", loss)()
			},
		}
	}}, nil
}

func lowerLoss(c *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.LossAttr)
	count := n.In[0].Shape().Elems()
	wantGrad := c.uses[n.Out[1]] > 0
	return &op{kernel: string(a.Kind), bind: func(b *binding) bound {
		x, t, loss := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.Out[0])
		var dx []float32
		if wantGrad {
			dx = b.f32(n.Out[1])
		}
		scale := 1 / float32(count)
		sums := make([]float64, chunkCount(count, chunkSize(count, 1)))
		return bound{
			phases: []phase{
				chunked(count, 1, func(k, lo, hi int) {
					sums[k] = elementwiseLoss(a, part(dx, lo, hi), x[lo:hi], t[lo:hi], scale)
				}),
				finish(func() { loss[0] = float32(total(sums) / float64(count)) }),
			},
			check: finiteCheck("loss", loss),
		}
	}}, nil
}

func elementwiseLoss(a graph.LossAttr, dx, x, t []float32, scale float32) float64 {
	switch a.Kind {
	case graph.BCE:
		return vec.BCELogits(dx, x, t, scale)
	case graph.Huber:
		return vec.Huber(dx, x, t, a.Delta, scale)
	default:
		return vec.MSE(dx, x, t, scale)
	}
}

// part is v[lo:hi], nil when v is nil.
func part(v []float32, lo, hi int) []float32 {
	if v == nil {
		return nil
	}
	return v[lo:hi]
}

func total(xs []float64) float64 {
	s := 0.0
	for _, x := range xs {
		s += x
	}
	return s
}
