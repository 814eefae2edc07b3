package cpu

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/tensor"
)

// poolShape is the kernels' description of a pooling window over images of shape x.
func poolShape(x tensor.Shape, a graph.PoolAttr) (*vec.Pool, error) {
	p := &vec.Pool{
		N: x[0], H: x[1], W: x[2], C: x[3], KH: a.Taps[0], KW: a.Taps[1],
		StrideH: a.Stride[0], StrideW: a.Stride[1],
		PadT: a.Pad[0], PadB: a.Pad[1], PadL: a.Pad[2], PadR: a.Pad[3],
		DilH: a.Dilation[0], DilW: a.Dilation[1],
	}
	return p, p.Check()
}

func lowerMaxPool(_ *compiler, n *graph.Node) (*op, error) {
	p, err := poolShape(n.In[0].Shape(), n.Attr.(graph.PoolAttr))
	return &op{kernel: "max_pool", bind: func(b *binding) bound {
		x, y, arg := b.f32(n.In[0]), b.f32(n.Out[0]), b.u8(n.Out[1])
		rows := p.N * p.OutH()
		return bound{phases: over(rows, p.W*p.C*p.StrideH, func(lo, hi int) { vec.MaxPool(p, y, arg, x, lo, hi) })}
	}}, err
}

func lowerMaxPoolGrad(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.PoolAttr)
	p, err := poolShape(a.In, a)
	return &op{kernel: "max_pool_grad", bind: func(b *binding) bound {
		dy, arg, dx := b.f32(n.In[0]), b.u8(n.In[1]), b.f32(n.Out[0])
		var mask []float32
		if a.Mask {
			mask = b.f32(n.In[2])
		}
		return bound{phases: over(p.N*p.H, p.W*p.C, func(lo, hi int) {
			vec.MaxPoolGrad(p, dx, dy, arg, nil, lo, hi)
			if mask != nil {
				r := p.W * p.C
				vec.ReLUGrad(dx[lo*r:hi*r], dx[lo*r:hi*r], mask[lo*r:hi*r])
			}
		})}
	}}, err
}

func lowerAvgPool(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.PoolAttr)
	p, err := poolShape(n.In[0].Shape(), a)
	return &op{kernel: "avg_pool", bind: func(b *binding) bound {
		x, y := b.f32(n.In[0]), b.f32(n.Out[0])
		rows := p.N * p.OutH()
		return bound{phases: over(rows, p.W*p.C*p.StrideH, func(lo, hi int) { vec.AvgPool(p, y, x, a.CountPad, lo, hi) })}
	}}, err
}

func lowerAvgPoolGrad(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.PoolAttr)
	p, err := poolShape(a.In, a)
	return &op{kernel: "avg_pool_grad", bind: func(b *binding) bound {
		dy, dx := b.f32(n.In[0]), b.f32(n.Out[0])
		return bound{phases: over(p.N*p.H, p.W*p.C, func(lo, hi int) { vec.AvgPoolGrad(p, dx, dy, a.CountPad, lo, hi) })}
	}}, err
}
