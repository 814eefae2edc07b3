package graph

import "millrace.dev/learn/tensor"

// sinkReshape turns elementwise(reshape(x)) into reshape(elementwise(x)). A reshape is free,
// but between a product and what follows it, it keeps them from being fused.
func sinkReshape(r *rewriter, n *Node, in []*Value) []*Value {
	if len(n.Out) != 1 {
		return nil
	}
	var from, to tensor.Shape
	for _, v := range in {
		if m := r.maker(v, "reshape"); m != nil && v.Shape().Equal(n.Out[0].Shape()) {
			from, to = m.In[0].Shape(), v.Shape()
			break
		}
	}
	if from == nil || !sinks(n, in, from, to) {
		return nil
	}
	ops := make([]*Value, len(in))
	for i, v := range in {
		ops[i] = v
		if v.Shape().Equal(to) {
			ops[i] = r.reshapeFrom(v, from)
		}
	}
	return []*Value{r.Reshape(r.Apply(n.Op, n.Attr, ops...)[0], to...)}
}

// sinks reports whether node n computes the same on the other shape: its operands are of the
// result's shape, single numbers, or rows along a last axis that both shapes share.
func sinks(n *Node, in []*Value, from, to tensor.Shape) bool {
	switch n.Op {
	case "unary", "unary_grad", "binary", "dropout":
	default:
		return false
	}
	for _, v := range in {
		s := v.Shape()
		row := len(s) == 1 && len(from) > 0 && s[0] == to.Last() && s[0] == from.Last()
		if !s.Equal(to) && len(s) != 0 && !row {
			return false
		}
	}
	return true
}

// reshapeFrom gives v the shape that it may have had before a reshape.
func (r *rewriter) reshapeFrom(v *Value, shape tensor.Shape) *Value {
	if m := r.maker(v, "reshape"); m != nil && m.In[0].Shape().Equal(shape) {
		return m.In[0]
	}
	return r.Reshape(v, shape...)
}
