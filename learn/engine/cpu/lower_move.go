package cpu

import (
	"fmt"
	"slices"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/tensor"
)

// box copies a box of the given shape between two strided layouts, in chunks along its first
// axis longer than one.
func box(dst []float32, dstStride []int, src []float32, srcStride []int, shape tensor.Shape) []phase {
	if len(shape) == 0 {
		return once(func() { dst[0] = src[0] })
	}
	axis := 0
	for axis < len(shape)-1 && shape[axis] == 1 {
		axis++
	}
	rest := tensor.Shape(shape[axis:])
	each := tensor.Shape(rest[1:]).Elems()
	size := chunkSize(rest[0], each)
	// One shape a chunk, made here so that a run allocates nothing: all are alike but the last.
	full, last := rest.Clone(), rest.Clone()
	chunks := chunkCount(rest[0], size)
	full[0], last[0] = min(size, rest[0]), rest[0]-(chunks-1)*size
	return []phase{{chunks, func(_, chunk int) {
		part := full
		if chunk == chunks-1 {
			part = last
		}
		if part.Elems() == 0 {
			return
		}
		lo := chunk * size
		vec.CopyStrided(dst[lo*dstStride[axis]:], dstStride[axis:], src[lo*srcStride[axis]:], srcStride[axis:], part)
	}}}
}

func rowMajor(shape tensor.Shape) []int {
	s := make([]int, len(shape))
	vec.RowMajor(s, shape)
	return s
}

// offset is the position of an index under strides.
func offset(index, stride []int) int {
	at := 0
	for i, x := range index {
		at += x * stride[i]
	}
	return at
}

func checkRank(vs ...*graph.Value) error {
	for _, v := range vs {
		if len(v.Shape()) > vec.MaxRank {
			return fmt.Errorf("more than %d axes: %v", vec.MaxRank, v.Shape())
		}
	}
	return nil
}

func lowerBroadcast(_ *compiler, n *graph.Node) (*op, error) {
	out := n.Out[0].Shape()
	stride := make([]int, len(out))
	if err := checkRank(n.Out[0]); err != nil {
		return nil, err
	}
	vec.BroadcastStrides(stride, n.In[0].Shape(), out)
	return &op{kernel: "broadcast", bind: func(b *binding) bound {
		return bound{phases: box(b.f32(n.Out[0]), rowMajor(out), b.f32(n.In[0]), stride, out)}
	}}, nil
}

func lowerTranspose(_ *compiler, n *graph.Node) (*op, error) {
	in, perm := n.In[0].Shape(), n.Attr.(graph.PermAttr).Perm
	if err := checkRank(n.Out[0]); err != nil {
		return nil, err
	}
	rows := vec.PermuteRows(in, perm)
	return &op{kernel: "permute", bind: func(b *binding) bound {
		x, y := b.f32(n.In[0]), b.f32(n.Out[0])
		return bound{phases: over(rows, len(y)/max(rows, 1), func(lo, hi int) { vec.Permute(y, x, in, perm, lo, hi) })}
	}}, nil
}

func lowerSlice(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.SliceAttr)
	from := rowMajor(n.In[0].Shape())
	return &op{kernel: "slice", bind: func(b *binding) bound {
		out := n.Out[0].Shape()
		x, y := b.f32(n.In[0]), b.f32(n.Out[0])
		if len(y) == 0 {
			return bound{}
		}
		return bound{phases: box(y, rowMajor(out), x[offset(a.Start, from):], from, out)}
	}}, checkRank(n.Out[0])
}

func lowerPad(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.PadAttr)
	to := rowMajor(n.Out[0].Shape())
	return &op{kernel: "pad", bind: func(b *binding) bound {
		in := n.In[0].Shape()
		x, y := b.f32(n.In[0]), b.f32(n.Out[0])
		phases := over(len(y), 1, func(lo, hi int) { vec.Fill(y[lo:hi], a.Value) })
		if len(x) > 0 {
			phases = append(phases, box(y[offset(a.Before, to):], to, x, rowMajor(in), in)...)
		}
		return bound{phases: phases}
	}}, checkRank(n.Out[0])
}

func lowerConcat(_ *compiler, n *graph.Node) (*op, error) {
	axis := n.Attr.(graph.AxisAttr).Axis
	to := rowMajor(n.Out[0].Shape())
	return &op{kernel: "concat", bind: func(b *binding) bound {
		y, at := b.f32(n.Out[0]), 0
		var phases []phase
		for _, v := range n.In {
			if v.Shape().Elems() > 0 {
				phases = append(phases, box(y[at*to[axis]:], to, b.f32(v), rowMajor(v.Shape()), v.Shape())...)
			}
			at += v.Shape()[axis]
		}
		return bound{phases: phases}
	}}, checkRank(n.Out[0])
}

func lowerGather(_ *compiler, n *graph.Node) (*op, error) {
	rows, cols := n.In[0].Shape()[0], tensor.Shape(n.In[0].Shape()[1:]).Elems()
	return &op{kernel: "gather", bind: func(b *binding) bound {
		table, index, y := b.f32(n.In[0]), b.i32(n.In[1]), b.f32(n.Out[0])
		phases := over(len(index), cols, func(lo, hi int) {
			vec.GatherRows(y[lo*cols:hi*cols], table, index[lo:hi], rows, cols)
		})
		return bound{phases: phases, check: rowCheck(index, rows)}
	}}, nil
}

func lowerScatterAdd(_ *compiler, n *graph.Node) (*op, error) {
	rows, cols := n.Out[0].Shape()[0], tensor.Shape(n.Out[0].Shape()[1:]).Elems()
	return &op{kernel: "scatter_add", bind: func(b *binding) bound {
		index, x, table := b.i32(n.In[0]), b.f32(n.In[1]), b.f32(n.Out[0])
		phases := over(rows, cols, func(lo, hi int) {
			clear(table[lo*cols : hi*cols])
			vec.ScatterAddRows(table, x, index, rows, cols, lo, hi)
		})
		return bound{phases: phases, check: rowCheck(index, rows)}
	}}, nil
}

func rowCheck(index []int32, rows int) func() error {
	return func() error {
		outside := func(i int32) bool { return i < 0 || int(i) >= rows }
		if at := slices.IndexFunc(index, outside); at >= 0 {
			return &engine.RangeError{What: "row", At: at, Value: int(index[at]), Limit: rows}
		}
		return nil
	}
}
