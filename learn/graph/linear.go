package graph

import (
	"fmt"

	"millrace.dev/learn/tensor"
)

// Fused lists what a matrix product or convolution does to its result before it is stored, in
// this order: add the bias (one number a column), add the residual (same shape as the result),
// apply Act, multiply by (mask > 0) with a mask of the result's shape. The extra operands
// follow the two main ones in that order.
type Fused struct {
	Bias     bool
	Residual bool
	Act      Act
	Mask     bool
}

// Extra is the number of extra operands.
func (f Fused) Extra() int {
	n := 0
	for _, b := range []bool{f.Bias, f.Residual, f.Mask} {
		if b {
			n++
		}
	}
	return n
}

// check verifies the extra operands against the result's shape.
func (f Fused) check(extra []Spec, out tensor.Shape) error {
	if len(extra) != f.Extra() {
		return fmt.Errorf("wants %d extra operands, got %d", f.Extra(), len(extra))
	}
	want := []tensor.Shape{}
	if f.Bias {
		want = append(want, tensor.Shape{out.Last()})
	}
	if f.Residual {
		want = append(want, out)
	}
	if f.Mask {
		want = append(want, out)
	}
	for i, w := range want {
		if !extra[i].Shape.Equal(w) || extra[i].DType != tensor.Float32 {
			return fmt.Errorf("extra operand %d is %v, wants %v", i, extra[i], w)
		}
	}
	return nil
}

// MatMulAttr of "matmul": op(a)·op(b), op transposing where told.
type MatMulAttr struct {
	TransA, TransB bool
	Fused
}

// Window is a two-dimensional sliding window: how far it steps, how many zeros stand around
// the input, and how far apart its taps are.
type Window struct {
	Stride   [2]int // rows, columns
	Pad      [4]int // top, bottom, left, right
	Dilation [2]int
}

// Out gives the number of window positions along axis 0 (rows) or 1 (columns) of an input of
// size in for k taps: ⌊(in + pads − dil·(k−1) − 1)/stride⌋ + 1.
func (w Window) Out(axis, in, k int) (int, error) {
	if w.Stride[axis] < 1 || w.Dilation[axis] < 1 || k < 1 || w.Pad[2*axis] < 0 || w.Pad[2*axis+1] < 0 {
		return 0, fmt.Errorf("window needs stride, dilation, taps ≥ 1 and padding ≥ 0: %+v", w)
	}
	if max(w.Stride[axis], w.Dilation[axis], k, w.Pad[2*axis], w.Pad[2*axis+1]) > 1<<20 {
		return 0, fmt.Errorf("window is absurdly large: %+v", w)
	}
	span := in + w.Pad[2*axis] + w.Pad[2*axis+1] - w.Dilation[axis]*(k-1) - 1
	if span < 0 {
		return 0, fmt.Errorf("window of %d taps, dilation %d, does not fit into %d with padding %d+%d",
			k, w.Dilation[axis], in, w.Pad[2*axis], w.Pad[2*axis+1])
	}
	return span/w.Stride[axis] + 1, nil
}

// Same returns w with the padding that makes the output ⌈in/stride⌉ for an h×wd input and
// kh×kw taps; an odd pixel goes to the bottom and right, as in TensorFlow.
func (w Window) Same(h, wd, kh, kw int) Window {
	for axis, d := range [2][2]int{{h, kh}, {wd, kw}} {
		in, k := d[0], d[1]
		s := max(w.Stride[axis], 1)
		out := (in + s - 1) / s
		total := max((out-1)*s+w.Dilation[axis]*(k-1)+1-in, 0)
		w.Pad[2*axis], w.Pad[2*axis+1] = total/2, total-total/2
	}
	return w
}

// Unit is the window that moves by one, without padding.
func Unit() Window { return Window{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}} }

// ConvAttr of "conv2d", "conv2d_grad_x" and "conv2d_grad_w".
type ConvAttr struct {
	Window
	Groups int
	Fused
	In tensor.Shape // of the input, for conv2d_grad_x; of the filter, for conv2d_grad_w; else nil
}

var _ = builtin(
	// matmul: a [M K] (or [K M]), b [K N] (or [N K]), extras → [M N].
	OpDef{
		Name: "matmul",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(MatMulAttr)
			if err := wantArgs(in, 2+a.Extra()); err != nil || !ok {
				return nil, fmt.Errorf("wants matrices: %v", err)
			}
			if len(in[0].Shape) != 2 || len(in[1].Shape) != 2 {
				return nil, fmt.Errorf("wants two matrices")
			}
			m, k := swapIf(a.TransA, in[0].Shape)
			k2, n := swapIf(a.TransB, in[1].Shape)
			if k != k2 {
				return nil, fmt.Errorf("inner sizes differ: %d and %d", k, k2)
			}
			out := tensor.Shape{m, n}
			return []Spec{{tensor.Float32, out}}, a.check(in[2:], out)
		},
		VJP: matmulVJP,
	},
	// conv2d: x [N H W C], w [KH KW C/groups OC], extras → [N OH OW OC].
	OpDef{
		Name: "conv2d",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(ConvAttr)
			if err := wantArgs(in, 2+a.Extra()); err != nil || !ok {
				return nil, fmt.Errorf("wants input and filter: %v", err)
			}
			out, err := ConvOut(in[0].Shape, in[1].Shape, a)
			if err != nil {
				return nil, err
			}
			return []Spec{{tensor.Float32, out}}, a.check(in[2:], out)
		},
		VJP: convVJP,
	},
	// conv2d_grad_x: dy, w, extras → dx of shape Attr.In.
	OpDef{
		Name: "conv2d_grad_x",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(ConvAttr)
			if err := wantArgs(in, 2+a.Extra()); err != nil || !ok {
				return nil, fmt.Errorf("wants gradient and filter: %v", err)
			}
			out, err := ConvOut(a.In, in[1].Shape, a)
			if err == nil && !out.Equal(in[0].Shape) {
				err = fmt.Errorf("gradient has shape %v, wants %v", in[0].Shape, out)
			}
			if err != nil {
				return nil, err
			}
			return []Spec{{tensor.Float32, a.In}}, a.check(in[2:], a.In)
		},
	},
	// conv2d_grad_w: x, dy → dw of shape Attr.In.
	OpDef{
		Name: "conv2d_grad_w",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(ConvAttr)
			if err := wantArgs(in, 2); err != nil || !ok {
				return nil, fmt.Errorf("wants input and gradient: %v", err)
			}
			out, err := ConvOut(in[0].Shape, a.In, a)
			if err == nil && !out.Equal(in[1].Shape) {
				err = fmt.Errorf("gradient has shape %v, wants %v", in[1].Shape, out)
			}
			return []Spec{{tensor.Float32, a.In}}, err
		},
	},
)

func swapIf(t bool, s tensor.Shape) (rows, cols int) {
	if t {
		return s[1], s[0]
	}
	return s[0], s[1]
}

// ConvOut is the shape of a convolution's result for an NHWC input and a [KH KW C/groups OC]
// filter.
func ConvOut(x, w tensor.Shape, a ConvAttr) (tensor.Shape, error) {
	if len(x) != 4 || len(w) != 4 {
		return nil, fmt.Errorf("wants an NHWC input and a [KH KW C/groups OC] filter, got %v and %v", x, w)
	}
	if a.Groups < 1 || x[3]%a.Groups != 0 || w[3]%a.Groups != 0 {
		return nil, fmt.Errorf("%d groups do not divide %d and %d channels", a.Groups, x[3], w[3])
	}
	if x[3]/a.Groups != w[2] {
		return nil, fmt.Errorf("input has %d channels in %d groups, the filter wants %d in each", x[3], a.Groups, w[2])
	}
	oh, err := a.Out(0, x[1], w[0])
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	ow, err := a.Out(1, x[2], w[1])
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	return tensor.Shape{x[0], oh, ow, w[3]}, nil
}

// undoFused turns the gradient of a fused node's result into the gradient of the bare product
// and of the extra operands.
func undoFused(g *Graph, n *Node, f Fused, dy *Value) (*Value, []*Value) {
	extra := []*Value{}
	if f.Mask {
		dy = g.Apply("unary_grad", UnaryAttr{Kind: Relu}, dy, n.In[len(n.In)-1])[0]
	}
	if f.Act == ReLU {
		dy = g.Apply("unary_grad", UnaryAttr{Kind: Relu}, dy, n.Out[0])[0]
	}
	if f.Bias {
		extra = append(extra, g.SumTo(dy, tensor.Shape{dy.Shape().Last()}))
	}
	if f.Residual {
		extra = append(extra, dy)
	}
	if f.Mask {
		extra = append(extra, nil)
	}
	return dy, extra
}

// matmulVJP: with C = A·B, dA = dC·Bᵀ and dB = Aᵀ·dC; a transposed operand's gradient is the
// transpose of that, written as a product again.
func matmulVJP(g *Graph, n *Node, dys []*Value) []*Value {
	at := n.Attr.(MatMulAttr)
	dy, extra := undoFused(g, n, at.Fused, dys[0])
	a, b := n.In[0], n.In[1]
	mm := func(x, y *Value, tx, ty bool) *Value {
		return g.Apply("matmul", MatMulAttr{TransA: tx, TransB: ty}, x, y)[0]
	}
	var da, db *Value
	if at.TransA {
		da = mm(b, dy, at.TransB, true)
	} else {
		da = mm(dy, b, false, !at.TransB)
	}
	if at.TransB {
		db = mm(dy, a, true, at.TransA)
	} else {
		db = mm(a, dy, !at.TransA, false)
	}
	return append([]*Value{da, db}, extra...)
}

func convVJP(g *Graph, n *Node, dys []*Value) []*Value {
	at := n.Attr.(ConvAttr)
	dy, extra := undoFused(g, n, at.Fused, dys[0])
	x, w := n.In[0], n.In[1]
	bare := func(in tensor.Shape) ConvAttr { return ConvAttr{Window: at.Window, Groups: at.Groups, In: in} }
	dx := g.Apply("conv2d_grad_x", bare(x.Shape()), dy, w)[0]
	dw := g.Apply("conv2d_grad_w", bare(w.Shape()), x, dy)[0]
	return append([]*Value{dx, dw}, extra...)
}

// MatMul is a·b of two matrices.
func (g *Graph) MatMul(a, b *Value) *Value { return g.Apply("matmul", MatMulAttr{}, a, b)[0] }

// Conv2D convolves an NHWC input with a [KH KW C/groups OC] filter.
func (g *Graph) Conv2D(x, w *Value, win Window, groups int) *Value {
	return g.Apply("conv2d", ConvAttr{Window: win, Groups: groups}, x, w)[0]
}

// Flops counts the multiplications and additions of a product or convolution, 0 for any other
// node.
func Flops(n *Node) int64 {
	count := func(v *Value) int64 { return int64(v.Shape().Elems()) }
	switch a := n.Attr.(type) {
	case MatMulAttr:
		_, k := swapIf(a.TransA, n.In[0].Shape())
		return 2 * count(n.Out[0]) * int64(k)
	case ConvAttr:
		y, w := n.Out[0], n.In[1]
		switch n.Op {
		case "conv2d_grad_x":
			y = n.In[0]
		case "conv2d_grad_w":
			y, w = n.In[1], n.Out[0]
		}
		return 2 * count(y) * int64(w.Shape()[:3].Elems())
	}
	return 0
}
