package graph

import (
	"slices"

	"millrace.dev/learn/tensor"
)

// canonicalise removes operations without effect, merges neighbours and computes equal
// expressions once. It holds the expressions seen so far, so make one for each rewrite.
func canonicalise() rule {
	seen := map[string][]*Value{}
	return func(r *rewriter, n *Node, in []*Value) []*Value {
		if v := simplify(r, n, in); v != nil {
			return []*Value{v}
		}
		key, ok := expression(n, in)
		if !ok {
			return nil
		}
		if out := seen[key]; out != nil {
			return out
		}
		out := r.keep(n, in)
		seen[key] = out
		return out
	}
}

// simplify gives a cheaper value that equals the node's only output, or nil.
func simplify(r *rewriter, n *Node, in []*Value) *Value {
	switch a := n.Attr.(type) {
	case UnaryAttr:
		if n.Op == "unary" {
			return simplifyUnary(r, a, in[0])
		}
	case BinaryAttr:
		return simplifyBinary(r, n, a, in)
	case ReduceAttr:
		return simplifyReduce(r, n, a, in[0])
	case ShapeAttr:
		return simplifyShape(r, n, a, in[0])
	case PermAttr:
		return simplifyTranspose(r, n, a, in[0])
	case SliceAttr:
		return simplifySlice(r, n, a, in[0])
	case PadAttr:
		return simplifyPad(r, n, a, in[0])
	case CastAttr:
		return simplifyCast(r, a, in[0])
	case MatMulAttr:
		return simplifyMatMul(r, a, in)
	case AxisAttr:
		if n.Op == "concat" && len(in) == 1 {
			return in[0]
		}
	case DropoutAttr:
		if a.Rate == 0 {
			return in[0]
		}
	}
	return nil
}

func simplifyUnary(r *rewriter, a UnaryAttr, x *Value) *Value {
	before := r.maker(x, "unary")
	switch {
	case a.Kind == Neg && isScalarConst(x):
		return r.Const([]float32{-x.Node.Attr.(ConstAttr).Data[0]}, x.Shape()...)
	case before == nil:
		return nil
	case a.Kind == Neg && before.Attr.(UnaryAttr).Kind == Neg:
		return before.In[0]
	case a.Kind == Relu && before.Attr.(UnaryAttr).Kind == Relu:
		return x
	}
	return nil
}

func simplifyBinary(r *rewriter, n *Node, a BinaryAttr, in []*Value) *Value {
	if a.Act != NoAct {
		return nil
	}
	x, y := in[0], in[1]
	shape := n.Out[0].Shape()
	// An operand may stand for the result when it has the result's shape.
	same := func(v, other *Value, neutral float32) bool {
		return v.Shape().Equal(shape) && isFilled(other, neutral)
	}
	switch a.Kind {
	case Add:
		if same(x, y, 0) {
			return x
		}
		if same(y, x, 0) {
			return y
		}
		if m := r.negated(y); m != nil {
			return r.Sub(x, m)
		}
		if m := r.negated(x); m != nil {
			return r.Sub(y, m)
		}
	case Sub:
		if same(x, y, 0) {
			return x
		}
		if same(y, x, 0) {
			return r.Unary(Neg, y)
		}
		if m := r.negated(y); m != nil {
			return r.Add(x, m)
		}
	case Mul:
		if same(x, y, 1) {
			return x
		}
		if same(y, x, 1) {
			return y
		}
	case Div:
		if same(x, y, 1) {
			return x
		}
	}
	if isScalarConst(x) && isScalarConst(y) {
		return foldConst(r, a.Kind, x, y, shape)
	}
	return unstretch(r, a, x, y, shape)
}

// negated is v's operand when v is a negation.
func (r *rewriter) negated(v *Value) *Value {
	if m := r.maker(v, "unary"); m != nil && m.Attr.(UnaryAttr).Kind == Neg {
		return m.In[0]
	}
	return nil
}

// unstretch leaves a broadcast of an operand to the binary operation itself.
func unstretch(r *rewriter, a BinaryAttr, x, y *Value, shape tensor.Shape) *Value {
	bare := func(v *Value) *Value {
		if m := r.maker(v, "broadcast"); m != nil {
			return m.In[0]
		}
		return v
	}
	for _, p := range [][2]*Value{{bare(x), bare(y)}, {bare(x), y}, {x, bare(y)}} {
		if p[0] == x && p[1] == y {
			continue
		}
		if s, err := tensor.Broadcast(p[0].Shape(), p[1].Shape()); err == nil && s.Equal(shape) {
			return r.Apply("binary", a, p[0], p[1])[0]
		}
	}
	return nil
}

func foldConst(r *rewriter, k Kind, x, y *Value, shape tensor.Shape) *Value {
	a, b := x.Node.Attr.(ConstAttr).Data[0], y.Node.Attr.(ConstAttr).Data[0]
	switch k {
	case Add:
		a += b
	case Sub:
		a -= b
	case Mul:
		a *= b
	case Div:
		a /= b
	default:
		return nil
	}
	return r.Const([]float32{a}, shape...)
}

// simplifyReduce drops a reduction over axes of size 1. A sum over all pixels of max pooling's
// gradient is taken before that gradient is scattered: every element lands on one pixel.
func simplifyReduce(r *rewriter, n *Node, a ReduceAttr, x *Value) *Value {
	m := r.maker(x, "max_pool_grad")
	if m != nil && !m.Attr.(PoolAttr).Mask && a.Kind == RSum && slices.Contains(a.Axes, 1) && slices.Contains(a.Axes, 2) {
		return r.Apply("reduce", a, m.In[0])[0]
	}
	for _, ax := range a.Axes {
		if x.Shape()[ax] != 1 {
			return nil
		}
	}
	return r.Reshape(x, n.Out[0].Shape()...)
}

// simplifyShape handles reshape and broadcast: each swallows another before it.
func simplifyShape(r *rewriter, n *Node, a ShapeAttr, x *Value) *Value {
	src := x
	for m := r.maker(src, n.Op); m != nil; m = r.maker(src, n.Op) {
		src = m.In[0]
	}
	switch {
	case src.Shape().Equal(a.Shape):
		return src
	case n.Op == "reshape" && src.Op() == "const":
		return r.Const(src.Node.Attr.(ConstAttr).Data, a.Shape...)
	case src != x:
		return r.Apply(n.Op, a, src)[0]
	}
	return nil
}

func simplifyTranspose(r *rewriter, n *Node, a PermAttr, x *Value) *Value {
	perm, src := a.Perm, x
	for m := r.maker(src, "transpose"); m != nil; m = r.maker(src, "transpose") {
		inner := m.Attr.(PermAttr).Perm
		next := make([]int, len(perm))
		for i, p := range perm {
			next[i] = inner[p]
		}
		perm, src = next, m.In[0]
	}
	// Axes of size 1 move freely: if the others keep their order, no element moves.
	last, still := -1, true
	for _, p := range perm {
		if src.Shape()[p] == 1 {
			continue
		}
		still = still && p > last
		last = p
	}
	switch {
	case still:
		return r.Reshape(src, n.Out[0].Shape()...)
	case src != x:
		return r.Transpose(src, perm...)
	}
	return nil
}

func simplifySlice(r *rewriter, n *Node, a SliceAttr, x *Value) *Value {
	if n.Out[0].Shape().Equal(x.Shape()) {
		return x
	}
	m := r.maker(x, "slice")
	if m == nil {
		return nil
	}
	inner := m.Attr.(SliceAttr)
	return r.Slice(m.In[0], plus(inner.Start, a.Start), plus(inner.Start, a.Limit))
}

func simplifyPad(r *rewriter, n *Node, a PadAttr, x *Value) *Value {
	if n.Out[0].Shape().Equal(x.Shape()) {
		return x
	}
	m := r.maker(x, "pad")
	if m == nil || m.Attr.(PadAttr).Value != a.Value {
		return nil
	}
	inner := m.Attr.(PadAttr)
	both := PadAttr{plus(inner.Before, a.Before), plus(inner.After, a.After), a.Value}
	return r.Apply("pad", both, m.In[0])[0]
}

func plus(a, b []int) []int {
	c := slices.Clone(a)
	for i := range c {
		c[i] += b[i]
	}
	return c
}

// simplifyCast drops a cast to the same type, and one to and fro through a wider type.
func simplifyCast(r *rewriter, a CastAttr, x *Value) *Value {
	if x.Spec.DType == a.DType {
		return x
	}
	m := r.maker(x, "cast")
	if m != nil && x.Spec.DType == tensor.Float32 && m.In[0].Spec.DType == a.DType {
		return m.In[0]
	}
	return nil
}

// simplifyMatMul lets the product transpose instead of a transpose before it.
func simplifyMatMul(r *rewriter, a MatMulAttr, in []*Value) *Value {
	in = slices.Clone(in)
	found := false
	for k, flag := range []*bool{&a.TransA, &a.TransB} {
		if m := r.maker(in[k], "transpose"); m != nil && m.Attr.(PermAttr).Perm[0] == 1 {
			in[k], *flag, found = m.In[0], !*flag, true
		}
	}
	if !found {
		return nil
	}
	return r.Apply("matmul", a, in...)[0]
}

// isFilled reports whether v is a constant with every element equal to x.
func isFilled(v *Value, x float32) bool {
	if v.Op() != "const" {
		return false
	}
	for _, d := range v.Node.Attr.(ConstAttr).Data {
		if d != x {
			return false
		}
	}
	return true
}

func isScalarConst(v *Value) bool { return v.Op() == "const" && v.Shape().Elems() == 1 }
