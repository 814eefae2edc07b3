package cpu

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/gemm"
)

func lowerMatMul(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.MatMulAttr)
	out, k := n.Out[0].Shape(), n.In[0].Shape()[1]
	if a.TransA {
		k = n.In[0].Shape()[0]
	}
	plan, err := gemm.NewMatMul(out[0], out[1], k, a.TransA, a.TransB)
	if err != nil {
		return nil, err
	}
	return product(n, a.Fused, plan), nil
}

func lowerConv(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.ConvAttr)
	x, w := n.In[0].Shape(), n.In[1].Shape()
	switch n.Op {
	case "conv2d_grad_x":
		x = a.In
	case "conv2d_grad_w":
		w = a.In
	}
	conv, err := gemm.NewConv(gemm.ConvShape{
		N: x[0], H: x[1], W: x[2], C: x[3], KH: w[0], KW: w[1], OC: w[3],
		StrideH: a.Stride[0], StrideW: a.Stride[1],
		PadT: a.Pad[0], PadB: a.Pad[1], PadL: a.Pad[2], PadR: a.Pad[3],
		DilH: a.Dilation[0], DilW: a.Dilation[1], Groups: a.Groups,
	})
	if err != nil {
		return nil, err
	}
	plan := map[string]*gemm.Plan{"conv2d": conv.Forward, "conv2d_grad_x": conv.GradInput, "conv2d_grad_w": conv.GradFilter}[n.Op]
	return product(n, a.Fused, plan), nil
}

// product makes the op of a matrix product or convolution from its plan.
func product(n *graph.Node, f graph.Fused, plan *gemm.Plan) *op {
	return &op{
		kernel: "gemm", plan: plan, flops: plan.Flops(), shared: plan.Shared(), worker: plan.Worker(),
		bind: func(b *binding) bound { return bound{phases: bindProduct(b, n, f, plan, nil)} },
	}
}

// bindProduct gives the plan its memory. After each chunk, done, if not nil, gets every
// contiguous range of the result that the chunk has finished.
func bindProduct(b *binding, n *graph.Node, f graph.Fused, plan *gemm.Plan, done updater) []phase {
	args := &gemm.Args{Out: b.f32(n.Out[0]), A: b.f32(n.In[0]), B: b.f32(n.In[1]), Shared: b.work()}
	extra := n.In[2:]
	take := func(wanted bool) (v []float32) {
		if wanted {
			v, extra = b.f32(extra[0]), extra[1:]
		}
		return v
	}
	args.Bias, args.Residual = take(f.Bias), take(f.Residual)
	args.ReLU = f.Act == graph.ReLU
	args.Mask = take(f.Mask)
	var phases []phase
	for k := range plan.Phases() {
		phases = append(phases, phase{plan.Chunks(k), func(worker, chunk int) {
			plan.Run(k, chunk, args, b.scratch[worker])
			if done != nil {
				eachRange(plan.Region(k, chunk), done)
			}
		}})
	}
	return phases
}

// eachRange calls f for the contiguous ranges that make up a region.
func eachRange(r gemm.Region, f updater) {
	if r.Empty() {
		return
	}
	if lo, hi, ok := r.Range(); ok {
		f(lo, hi)
		return
	}
	for row := r.Row0; row < r.Row1; row++ {
		f(row*r.Cols+r.Col0, row*r.Cols+r.Col1)
	}
}

// fuseUpdate makes the update part of the product that computes its gradient, if it is one and
// the rule works element by element.
func (c *compiler) fuseUpdate(o *op, update *graph.Node) bool {
	if update.Op != "update" || update.In[3] != o.node.Out[0] || update.Attr.(graph.UpdateAttr).Kind == graph.LARS {
		return false
	}
	n := o.node
	var f graph.Fused
	switch a := n.Attr.(type) {
	case graph.MatMulAttr:
		f = a.Fused
	case graph.ConvAttr:
		f = a.Fused
	default:
		return false
	}
	plan := o.plan
	o.update = update
	o.bind = func(b *binding) bound {
		return bound{phases: bindProduct(b, n, f, plan, bindUpdate(b, update))}
	}
	return true
}
