package graph

// fuser moves the work of elementwise nodes into the node before them, in place.
type fuser struct {
	g       *Graph
	users   map[*Value][]*Node
	ends    map[*Value]bool    // outputs and gradients
	writers map[*Value][]*Node // that overwrite a param or state
}

// fuse applies each rule where the value in between has no other use. A node's ID is its place
// in g.Nodes; a node that was absorbed leaves nil there until the end.
func fuse(g *Graph) {
	f := &fuser{g, map[*Value][]*Node{}, map[*Value]bool{}, map[*Value][]*Node{}}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			f.users[v] = append(f.users[v], n)
		}
		for _, v := range n.overwrites() {
			f.writers[v] = append(f.writers[v], n)
		}
	}
	for _, o := range g.Outputs {
		f.ends[o.Value] = true
	}
	for _, d := range g.Grads {
		f.ends[d.Value] = true
	}
	for i := range g.Nodes {
		if n := g.Nodes[i]; n != nil {
			f.visit(n)
		}
	}
	kept := g.Nodes[:0]
	for _, n := range g.Nodes {
		if n != nil {
			kept = append(kept, n)
		}
	}
	g.Nodes = kept
	g.renumber()
}

func (f *fuser) visit(n *Node) {
	switch a := n.Attr.(type) {
	case BinaryAttr:
		if a.Kind == Add {
			f.visitAdd(n, a)
		}
	case UnaryAttr:
		switch {
		case a.Kind != Relu:
		case n.Op == "unary":
			f.visitRelu(n)
		default:
			f.visitReluGrad(n)
		}
	}
}

// visitAdd gives the sum to one of its operands' makers: as bias, or as residual. Of two that
// would do, the later one, since the other operand then exists already.
func (f *fuser) visitAdd(n *Node, a BinaryAttr) {
	first, second := 0, 1
	if n.In[1].Node.ID > n.In[0].Node.ID {
		first, second = 1, 0
	}
	for _, k := range []int{first, second} {
		if f.addInto(n.In[k], n.In[1-k], n, a.Act) {
			return
		}
	}
}

func (f *fuser) addInto(v, other *Value, n *Node, act Act) bool {
	if !v.Shape().Equal(n.Out[0].Shape()) {
		return false
	}
	residual := other.Shape().Equal(v.Shape())
	switch p := v.Node; p.Op {
	case "matmul", "conv2d", "conv2d_grad_x":
		fused := fusedOf(p)
		bias := len(other.Shape()) == 1 && other.Shape()[0] == v.Shape().Last() && !fused.Bias && !fused.Residual
		if fused.Act != NoAct || fused.Mask || fused.Residual || !bias && !residual {
			return false
		}
		fused.Bias, fused.Residual, fused.Act = fused.Bias || !residual, residual, act
		return f.absorb(p, n, v, withFused(p, fused), other)
	case "batch_norm", "batch_norm_infer":
		attr := p.Attr.(NormAttr)
		if attr.Act != NoAct || attr.Residual || !residual {
			return false
		}
		attr.Residual, attr.Act = true, act
		return f.absorb(p, n, v, attr, other)
	}
	return false
}

func (f *fuser) visitRelu(n *Node) {
	v := n.In[0]
	switch p := v.Node; a := p.Attr.(type) {
	case MatMulAttr, ConvAttr:
		if fused := fusedOf(p); p.Op != "conv2d_grad_w" && fused.Act == NoAct && !fused.Mask {
			fused.Act = ReLU
			f.absorb(p, n, v, withFused(p, fused))
		}
	case NormAttr:
		if p.Op != "layer_norm" && v.Index == 0 && a.Act == NoAct {
			a.Act = ReLU
			f.absorb(p, n, v, a)
		}
	case BinaryAttr:
		if a.Kind == Add && a.Act == NoAct {
			a.Act = ReLU
			f.absorb(p, n, v, a)
		}
	}
}

// visitReluGrad gives the mask to the maker of the gradient, else to the batch norm gradient
// that is its only reader.
func (f *fuser) visitReluGrad(n *Node) {
	dy, mask := n.In[0], n.In[1]
	switch p := dy.Node; a := p.Attr.(type) {
	case MatMulAttr, ConvAttr:
		if fused := fusedOf(p); p.Op != "conv2d_grad_w" && !fused.Mask {
			fused.Mask = true
			if f.absorb(p, n, dy, withFused(p, fused), mask) {
				return
			}
		}
	case PoolAttr:
		if p.Op == "max_pool_grad" && !a.Mask {
			a.Mask = true
			if f.absorb(p, n, dy, a, mask) {
				return
			}
		}
	}
	f.maskNormGrad(n)
}

func (f *fuser) maskNormGrad(n *Node) {
	out := n.Out[0]
	reader := f.only(out)
	if reader == nil || reader.Op != "batch_norm_grad" || reader.In[0] != out || reader.Attr.(NormGradAttr).Mask {
		return
	}
	if f.overwritten(n.In, n.ID, reader.ID) {
		return
	}
	reader.Attr = NormGradAttr{Mask: true}
	reader.In[0] = n.In[0]
	reader.In = append(reader.In, n.In[1])
	f.replaceUser(n.In[0], n, reader)
	f.replaceUser(n.In[1], n, reader)
	f.g.Nodes[n.ID] = nil
}

// only is the one node that reads v, nil when there are others or v is handed out.
func (f *fuser) only(v *Value) *Node {
	if f.ends[v] || len(f.users[v]) != 1 {
		return nil
	}
	return f.users[v][0]
}

// absorb lets p do the work of n, the only reader of p's output v: p gets the attribute, the
// extra operands, and n's result instead of v. It reports whether that is legal.
func (f *fuser) absorb(p, n *Node, v *Value, attr any, extra ...*Value) bool {
	if f.only(v) != n {
		return false
	}
	if !f.place(p, n, v, extra) {
		return false
	}
	p.Attr = attr
	p.In = append(p.In[:len(p.In):len(p.In)], extra...)
	out := n.Out[0]
	p.Out[v.Index], out.Node, out.Index = out, p, v.Index
	for _, x := range extra {
		f.replaceUser(x, n, p)
	}
	return true
}

// place takes n out of the list and, when an extra operand is made only after p, moves p to
// where n stood. That needs p's operands to be unchanged and its other results unread until then.
func (f *fuser) place(p, n *Node, v *Value, extra []*Value) bool {
	late := false
	for _, x := range extra {
		late = late || x.Node.ID > p.ID
	}
	if late && !f.canSink(p, n.ID, v) {
		return false
	}
	f.g.Nodes[n.ID] = nil
	if late {
		f.g.Nodes[p.ID] = nil
		f.g.Nodes[n.ID], p.ID = p, n.ID
	}
	return true
}

func (f *fuser) canSink(p *Node, to int, v *Value) bool {
	if f.overwritten(p.In, p.ID, to) {
		return false
	}
	for _, o := range p.Out {
		for _, u := range f.users[o] {
			if o != v && u.ID <= to {
				return false
			}
		}
	}
	return true
}

// overwritten reports whether a node behind from and up to to overwrites one of the values.
func (f *fuser) overwritten(vs []*Value, from, to int) bool {
	for _, v := range vs {
		for _, w := range f.writers[v.Base()] {
			if w.ID > from && w.ID <= to {
				return true
			}
		}
	}
	return false
}

func (f *fuser) replaceUser(v *Value, old, now *Node) {
	for i, u := range f.users[v] {
		if u == old {
			f.users[v][i] = now
			return
		}
	}
}
