package cpu

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/tensor"
)

var unaryKernels = map[graph.Kind]func(y, x []float32){
	graph.Neg: vec.Neg, graph.Abs: vec.Abs, graph.Exp: vec.Exp, graph.Log: vec.Log, graph.Sqrt: vec.Sqrt,
	graph.Square: vec.Square, graph.Relu: vec.ReLU, graph.Sigmoid: vec.Sigmoid, graph.Tanh: vec.Tanh,
	graph.GELU: vec.GELU, graph.GELUTanh: vec.GELUTanh, graph.SiLU: vec.SiLU,
}

var unaryGradKernels = map[graph.Kind]func(dx, dy, kept []float32){
	graph.Abs: vec.AbsGrad, graph.Exp: vec.Mul, graph.Log: vecLogGrad, graph.Sqrt: vec.SqrtGrad,
	graph.Square: vec.SquareGrad, graph.Relu: vec.ReLUGrad, graph.Sigmoid: vec.SigmoidGrad, graph.Tanh: vec.TanhGrad,
	graph.GELU: vec.GELUGrad, graph.GELUTanh: vec.GELUTanhGrad, graph.SiLU: vec.SiLUGrad,
}

func vecLogGrad(dx, dy, x []float32) { vec.Binary(vec.OpDiv, dx, dy, x) }

var binaryOps = map[graph.Kind]vec.Op{
	graph.Add: vec.OpAdd, graph.Sub: vec.OpSub, graph.Mul: vec.OpMul, graph.Div: vec.OpDiv,
	graph.Max: vec.OpMax, graph.Min: vec.OpMin, graph.GE: vec.OpGE, graph.LT: vec.OpLT,
}

func lowerUnary(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.UnaryAttr)
	f := unaryKernels[a.Kind]
	if a.Kind == graph.LeakyReLU {
		f = func(y, x []float32) { vec.LeakyReLU(y, x, a.Alpha) }
	}
	if f == nil {
		return nil, fmt.Errorf("no kernel for %q", a.Kind)
	}
	return &op{kernel: string(a.Kind), inPlace: []int{0}, bind: func(b *binding) bound {
		x, y := b.f32(n.In[0]), b.f32(n.Out[0])
		return bound{phases: over(len(y), 1, func(lo, hi int) { f(y[lo:hi], x[lo:hi]) })}
	}}, nil
}

func lowerUnaryGrad(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.UnaryAttr)
	f := unaryGradKernels[a.Kind]
	if a.Kind == graph.LeakyReLU {
		f = func(dx, dy, y []float32) { vec.LeakyReLUGrad(dx, dy, y, a.Alpha) }
	}
	if f == nil {
		return nil, fmt.Errorf("no gradient kernel for %q", a.Kind)
	}
	return &op{kernel: string(a.Kind) + "_grad", inPlace: []int{0}, bind: func(b *binding) bound {
		dy, kept, dx := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.Out[0])
		return bound{phases: over(len(dx), 1, func(lo, hi int) { f(dx[lo:hi], dy[lo:hi], kept[lo:hi]) })}
	}}, nil
}

// lowerBinary picks the kernel by how the operands broadcast: not at all, a number, a row, a
// column, or in some other way.
func lowerBinary(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.BinaryAttr)
	k := binaryOps[a.Kind]
	x, y, out := n.In[0].Shape(), n.In[1].Shape(), n.Out[0].Shape()
	relu := a.Act == graph.ReLU
	switch {
	case x.Equal(out) && y.Equal(out):
		if relu && k == vec.OpAdd {
			k, relu = vec.OpAddReLU, false
		}
		return elementwise(n, "", 1, relu, []int{0, 1}, func(d, x, y []float32, lo, hi int) {
			vec.Binary(k, d[lo:hi], x[lo:hi], y[lo:hi])
		}), nil
	case x.Equal(out) && y.Elems() == 1:
		return elementwise(n, "scalar", 1, relu, []int{0}, func(d, x, y []float32, lo, hi int) {
			vec.BinaryScalar(k, d[lo:hi], x[lo:hi], y[0])
		}), nil
	case y.Equal(out) && x.Elems() == 1:
		return elementwise(n, "scalar", 1, relu, []int{1}, func(d, x, y []float32, lo, hi int) {
			vec.ScalarBinary(k, d[lo:hi], x[0], y[lo:hi])
		}), nil
	case x.Equal(out) && isRow(y, out):
		c := out.Last()
		return elementwise(n, "row", c, relu, []int{0}, func(d, x, y []float32, lo, hi int) {
			if k == vec.OpAdd {
				vec.AffineRows(d[lo*c:], x[lo*c:], nil, nil, nil, y, hi-lo, c, false)
				return
			}
			vec.BinaryRows(k, d[lo*c:], x[lo*c:], y, hi-lo, c)
		}), nil
	case x.Equal(out) && isColumn(y, out):
		c := out.Last()
		return elementwise(n, "column", c, relu, []int{0}, func(d, x, y []float32, lo, hi int) {
			vec.BinaryCols(k, d[lo*c:], x[lo*c:], y[lo:], hi-lo, c)
		}), nil
	}
	return lowerStrided(n, k, relu)
}

// isRow reports whether s is one row of out: [1 … 1 C] or [C].
func isRow(s, out tensor.Shape) bool { return s.Last() == out.Last() && s.Rows() == 1 }

// isColumn reports whether s is out with a last axis of 1.
func isColumn(s, out tensor.Shape) bool {
	return len(s) == len(out) && s.Last() == 1 && tensor.Shape(s[:len(s)-1]).Equal(out[:len(out)-1])
}

// elementwise makes an op over out's elements, or over its rows when cols > 1. f works on the
// elements (rows) [lo, hi).
func elementwise(n *graph.Node, how string, cols int, relu bool, inPlace []int, f func(d, x, y []float32, lo, hi int)) *op {
	a := n.Attr.(graph.BinaryAttr)
	return &op{kernel: string(a.Kind) + how, inPlace: inPlace, bind: func(b *binding) bound {
		x, y, d := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.Out[0])
		return bound{phases: over(len(d)/max(cols, 1), cols, func(lo, hi int) {
			f(d, x, y, lo, hi)
			if relu {
				vec.ReLU(d[lo*cols:hi*cols], d[lo*cols:hi*cols])
			}
		})}
	}}
}

func lowerStrided(n *graph.Node, k vec.Op, relu bool) (*op, error) {
	out := n.Out[0].Shape()
	if len(out) > vec.MaxRank {
		return nil, fmt.Errorf("broadcasting has at most %d axes, got %d", vec.MaxRank, len(out))
	}
	xs, ys := make([]int, len(out)), make([]int, len(out))
	vec.BroadcastStrides(xs, n.In[0].Shape(), out)
	vec.BroadcastStrides(ys, n.In[1].Shape(), out)
	return elementwise(n, "strided", 1, relu, nil, func(d, x, y []float32, lo, hi int) {
		vec.BinaryStrided(k, d, out, x, xs, y, ys, lo, hi)
	}), nil
}

func lowerDropout(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.DropoutAttr)
	return &op{kernel: "dropout", inPlace: []int{0}, bind: func(b *binding) bound {
		x, y, step := b.f32(n.In[0]), b.f32(n.Out[0]), b.step
		return bound{phases: over(len(y), 1, func(lo, hi int) {
			key := vec.RandKey{Seed: step.Seed, Step: step.Index, Layer: a.Stream}
			vec.Dropout(y[lo:hi], x[lo:hi], key, lo, a.Rate)
		})}
	}}, nil
}

func lowerCast(_ *compiler, n *graph.Node) (*op, error) {
	from, to := n.In[0].Spec.DType, n.Out[0].Spec.DType
	return &op{kernel: fmt.Sprintf("%v_to_%v", from, to), bind: func(b *binding) bound {
		count := n.Out[0].Shape().Elems()
		widen := func(lo, hi int, dst []float32) {
			switch from {
			case tensor.Float16:
				vec.FromFloat16(dst, b.u16(n.In[0])[lo:hi])
			case tensor.BFloat16:
				vec.FromBFloat16(dst, b.u16(n.In[0])[lo:hi])
			default:
				copy(dst, b.f32(n.In[0])[lo:hi])
			}
		}
		narrow := func(lo, hi int, src []float32) {
			if to == tensor.Float16 {
				vec.ToFloat16(b.u16(n.Out[0])[lo:hi], src)
			} else {
				vec.ToBFloat16(b.u16(n.Out[0])[lo:hi], src)
			}
		}
		return bound{phases: over(count, 1, func(lo, hi int) {
			switch {
			case to == tensor.Float32:
				widen(lo, hi, b.f32(n.Out[0])[lo:hi])
			case from == tensor.Float32:
				narrow(lo, hi, b.f32(n.In[0])[lo:hi])
			default: // between the two 16-bit types, a little at a time
				var buf [256]float32
				for at := lo; at < hi; at += len(buf) {
					end := min(at+len(buf), hi)
					widen(at, end, buf[:end-at])
					narrow(at, end, buf[:end-at])
				}
			}
		})}
	}}, nil
}
