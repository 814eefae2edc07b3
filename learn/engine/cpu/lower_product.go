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
	if isEmpty(n) {
		return emptyProduct(n, a.Fused), nil
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
	if isEmpty(n) {
		return emptyProduct(n, a.Fused), nil
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

// isEmpty reports whether a product adds up nothing.
func isEmpty(n *graph.Node) bool {
	return n.In[0].Shape().Elems() == 0 || n.In[1].Shape().Elems() == 0 || n.Out[0].Shape().Elems() == 0
}

// emptyProduct is a product of empty operands: zeros, with what is fused into it.
func emptyProduct(n *graph.Node, f graph.Fused) *op {
	return &op{kernel: "empty", bind: func(b *binding) bound {
		out, args := b.f32(n.Out[0]), fusedArgs(b, n, f)
		cols := max(n.Out[0].Shape().Last(), 1)
		return bound{phases: once(func() {
			for i := range out {
				v := float32(0)
				if f.Bias {
					v += args.Bias[i%cols]
				}
				if f.Residual {
					v += args.Residual[i]
				}
				if args.ReLU {
					v = max(v, 0)
				}
				if f.Mask && !(args.Mask[i] > 0) {
					v = 0
				}
				out[i] = v
			}
		})}
	}}
}

// product makes the op of a matrix product or convolution from its plan.
func product(n *graph.Node, f graph.Fused, plan *gemm.Plan) *op {
	return &op{
		kernel: "gemm", plan: plan, fused: f, flops: plan.Flops(), shared: plan.Shared(), worker: plan.Worker(),
		bind: func(b *binding) bound { return bound{phases: bindProduct(b, n, f, plan, nil)} },
	}
}

// bindProduct gives the plan its memory. After each chunk, done, if not nil, gets every
// contiguous range of the result that the chunk has finished.
func bindProduct(b *binding, n *graph.Node, f graph.Fused, plan *gemm.Plan, done func(lo, hi int)) []phase {
	args := fusedArgs(b, n, f)
	args.Out, args.A, args.B, args.Shared = b.f32(n.Out[0]), b.f32(n.In[0]), b.f32(n.In[1]), b.work()
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

// fusedArgs are the operands of what is fused into a product.
func fusedArgs(b *binding, n *graph.Node, f graph.Fused) *gemm.Args {
	extra := n.In[2:]
	take := func(wanted bool) (v []float32) {
		if wanted {
			v, extra = b.f32(extra[0]), extra[1:]
		}
		return v
	}
	args := &gemm.Args{}
	args.Bias, args.Residual = take(f.Bias), take(f.Residual)
	args.ReLU, args.Mask = f.Act == graph.ReLU, take(f.Mask)
	return args
}

// fuseUpdate makes the update part of the product that computes its gradient, if it is one and
// the rule works element by element.
func (c *compiler) fuseUpdate(o *op, update *graph.Node) bool {
	if update.Op != "update" || len(o.node.Out) == 0 || update.In[3] != o.node.Out[0] || o.plan == nil {
		return false
	}
	if update.Attr.(graph.UpdateAttr).Kind == graph.LARS || o.fused != (graph.Fused{}) {
		return false
	}
	n, plan := o.node, o.plan
	o.update = update
	if size := largestRegion(plan); plan.Phases() == 1 && c.uses[n.Out[0]] == 2 && size <= hotGradient {
		o.worker += size
		o.bind = func(b *binding) bound { return bound{phases: bindHotGradient(b, n, plan, bindUpdate(b, update))} }
		return true
	}
	o.bind = func(b *binding) bound {
		grad, step := b.f32(n.Out[0]), bindUpdate(b, update)
		return bound{phases: bindProduct(b, n, graph.Fused{}, plan, func(lo, hi int) { step(lo, hi, grad[lo:hi]) })}
	}
	return true
}

// hotGradient is how many elements of a gradient each worker keeps to itself, in its
// second-level cache.
const hotGradient = 1 << 16

// bindHotGradient binds a product of one phase whose result only its update needs: each chunk's
// part of the gradient lives in the worker's scratch, from where it is used at once, and never
// travels to memory.
func bindHotGradient(b *binding, n *graph.Node, plan *gemm.Plan, step updater) []phase {
	args := make([]gemm.Args, len(b.scratch)) // one a worker, since Out differs
	for i := range args {
		args[i] = gemm.Args{A: b.f32(n.In[0]), B: b.f32(n.In[1]), Shared: b.work()}
	}
	return []phase{{plan.Chunks(0), func(worker, chunk int) {
		a, r := &args[worker], plan.Region(0, chunk)
		lo, hi, _ := r.Range()
		a.Out, a.Part, a.Lo = b.scratch[worker][plan.Worker():plan.Worker()+hi-lo], true, lo
		plan.Run(0, chunk, a, b.scratch[worker][:plan.Worker()])
		eachRange(r, func(from, to int) { step(from, to, a.Out[from-lo:to-lo]) })
	}}}
}

// largestRegion is the most elements that a chunk of the plan's last phase spans.
func largestRegion(plan *gemm.Plan) int {
	most, last := 0, plan.Phases()-1
	for chunk := range plan.Chunks(last) {
		lo, hi, _ := plan.Region(last, chunk).Range()
		most = max(most, hi-lo)
	}
	return most
}

// eachRange calls f for the contiguous ranges that make up a region.
func eachRange(r gemm.Region, f func(lo, hi int)) {
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
