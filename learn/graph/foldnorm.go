package graph

// foldNorm puts an inference batch norm into the product before it: with s = γ/√(var+ε),
// BN(x·w + b) = x·(w·s) + (b−mean)·s + β. It pays when there are fewer weights than results.
func foldNorm(r *rewriter, n *Node, in []*Value) []*Value {
	if n.Op != "batch_norm_infer" || r.oldUsers[n.In[0]] != 1 {
		return nil
	}
	p := r.maker(in[0], "conv2d")
	if p == nil {
		p = r.maker(in[0], "matmul")
	}
	if p == nil || p.In[1].Shape().Elems() >= in[0].Shape().Elems() {
		return nil
	}
	fused := fusedOf(p)
	if mm, ok := p.Attr.(MatMulAttr); ok && mm.TransB || fused.Residual || fused.Mask || fused.Act != NoAct {
		return nil
	}
	a := n.Attr.(NormAttr)
	gamma, beta, mean, variance := in[1], in[2], in[3], in[4]
	scale := r.Div(gamma, r.Unary(Sqrt, r.Add(variance, r.Scalar(a.Eps))))
	shift := mean
	if fused.Bias {
		shift = r.Sub(mean, p.In[2])
	}
	bias := r.Sub(beta, r.Mul(shift, scale))
	ops := append([]*Value{p.In[0], r.Mul(p.In[1], scale), bias}, in[5:]...)
	return r.Apply(p.Op, withFused(p, Fused{Bias: true, Residual: a.Residual, Act: a.Act}), ops...)
}

// fusedOf is the Fused part of a product's attributes.
func fusedOf(p *Node) Fused {
	switch a := p.Attr.(type) {
	case MatMulAttr:
		return a.Fused
	case ConvAttr:
		return a.Fused
	}
	return Fused{}
}

// withFused is the product's attribute with another Fused part.
func withFused(p *Node, f Fused) any {
	switch a := p.Attr.(type) {
	case MatMulAttr:
		a.Fused = f
		return a
	case ConvAttr:
		a.Fused = f
		return a
	}
	return p.Attr
}
