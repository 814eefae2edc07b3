package cpu

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/tensor"
)

var reductions = map[graph.ReduceKind]vec.Reduction{
	graph.RSum: vec.ReduceSum, graph.RMean: vec.ReduceMean, graph.RMax: vec.ReduceMax,
}

// lowerReduce sums columns in chunks of rows where all axes but the last few go, and otherwise
// cuts the outputs into chunks.
func lowerReduce(_ *compiler, n *graph.Node) (*op, error) {
	a, in := n.Attr.(graph.ReduceAttr), n.In[0].Shape()
	if err := checkRank(n.In[0]); err != nil {
		return nil, err
	}
	reduced := make([]bool, len(in))
	for _, ax := range a.Axes {
		reduced[ax] = true
	}
	if lead := leading(reduced); a.Kind == graph.RSum && lead == len(a.Axes) && lead > 0 && lead < len(in) {
		return sumColumns(n, tensor.Shape(in[:lead]).Elems(), tensor.Shape(in[lead:]).Elems()), nil
	}
	return &op{kernel: "reduce_" + string(a.Kind), bind: func(b *binding) bound {
		x, y := b.f32(n.In[0]), b.f32(n.Out[0])
		each := len(x) / max(len(y), 1)
		return bound{phases: over(len(y), each, func(lo, hi int) {
			vec.ReduceAxes(reductions[a.Kind], y, x, in, reduced, lo, hi)
		})}
	}}, nil
}

// leading counts the axes at the front that are reduced.
func leading(reduced []bool) int {
	n := 0
	for n < len(reduced) && reduced[n] {
		n++
	}
	return n
}

func sumColumns(n *graph.Node, rows, cols int) *op {
	chunks := chunkCount(rows, partRows(rows, cols))
	return &op{kernel: "sum_columns", shared: chunks * cols, bind: func(b *binding) bound {
		x, y, sums := b.f32(n.In[0]), b.f32(n.Out[0]), b.work()
		return bound{phases: []phase{
			parts(rows, cols, func(k, lo, hi int) {
				vec.SumCols(sums[k*cols:], x[lo*cols:hi*cols], hi-lo, cols)
			}),
			finish(func() { vec.SumPartials(y, sums, chunks) }),
		}}
	}}
}
