package graph

import "slices"

// rule says what stands in the new graph for node n of the old one, whose operands have become
// in. A nil result keeps the node as it is.
type rule func(r *rewriter, n *Node, in []*Value) []*Value

// rewriter carries a graph over into a new one, node by node.
type rewriter struct {
	*Graph                        // the new graph
	to          map[*Value]*Value // from old values to new ones
	changed     map[*Value]bool   // new params and states that a node so far overwrites
	overwritten map[string]bool   // names of the params and states that any node overwrites
	oldUsers    map[*Value]int    // uses of the old values
}

// rewrite makes a new graph with the rule applied to every node.
func rewrite(g *Graph, apply rule) (*Graph, error) {
	if g.err != nil {
		return nil, g.err
	}
	r := &rewriter{New(), make(map[*Value]*Value, len(g.Nodes)), map[*Value]bool{}, written(g), g.Uses()}
	for _, n := range g.Nodes {
		if isSource(n.Op) {
			r.copySource(n)
			continue
		}
		r.step(n, apply)
	}
	r.path = nil
	for _, o := range g.Outputs {
		r.Output(o.Name, r.to[o.Value])
	}
	for _, d := range g.Grads {
		r.Grads = append(r.Grads, Grad{r.to[d.Param], r.to[d.Value]})
	}
	return r.Graph, r.err
}

func isSource(op string) bool {
	return op == "input" || op == "param" || op == "state" || op == "const"
}

func (r *rewriter) copySource(n *Node) {
	r.at(n.Path)
	old := n.Out[0]
	var v *Value
	switch {
	case n.Op == "const":
		v = r.Const(n.Attr.(ConstAttr).Data, old.Shape()...)
	case n.Op == "input":
		v = r.Input(old.Name, old.Spec)
	case n.Op == "param":
		v = r.Param(old.Name, old.Shape()...)
	case old.SlotOf != nil:
		v = r.SlotState(r.to[old.SlotOf], old.Slot)
	default:
		v = r.State(old.Name, old.Shape()...)
	}
	r.to[old] = v
}

func (r *rewriter) step(n *Node, apply rule) {
	r.at(n.Path)
	in := make([]*Value, len(n.In))
	for i, v := range n.In {
		in[i] = r.to[v]
	}
	out := apply(r, n, in)
	if out == nil || n.Op != "reshape" && r.exposed(out) {
		out = r.keep(n, in)
	}
	for i, o := range n.Out {
		r.to[o] = out[i]
	}
	for _, v := range n.overwrites() {
		r.changed[r.to[v]] = true
	}
}

func (r *rewriter) at(path string) {
	r.path = r.path[:0]
	if path != "" {
		r.path = append(r.path, path)
	}
}

// exposed reports whether one of the values is, or is a view of, a param or state that some node
// overwrites: what was computed from it must not change with it.
func (r *rewriter) exposed(vs []*Value) bool {
	return slices.ContainsFunc(vs, func(v *Value) bool { return r.overwritten[v.Base().Name] })
}

// keep appends the node unchanged.
func (r *rewriter) keep(n *Node, in []*Value) []*Value {
	specs := make([]Spec, len(n.Out))
	for i, o := range n.Out {
		specs[i] = o.Spec
	}
	return r.add(n.Op, n.Attr, in, specs)
}

// maker is the node that made v if its operation is op and its operands may still be read,
// nil otherwise.
func (r *rewriter) maker(v *Value, op string) *Node {
	if v.Op() != op || slices.ContainsFunc(v.Node.In, func(x *Value) bool { return r.changed[x.Base()] }) {
		return nil
	}
	return v.Node
}

// written names the params and states that a node of the graph overwrites.
func written(g *Graph) map[string]bool {
	names := map[string]bool{}
	for _, n := range g.Nodes {
		for _, v := range n.overwrites() {
			names[v.Name] = true
		}
	}
	return names
}

// overwrites lists the operands that the node changes.
func (n *Node) overwrites() []*Value {
	vs := []*Value{}
	def, _ := Lookup(n.Op)
	for _, k := range def.Mutates {
		if k < len(n.In) {
			vs = append(vs, n.In[k])
		}
	}
	return vs
}

// Uses counts the operands, outputs and gradients that each value serves as.
func (g *Graph) Uses() map[*Value]int {
	uses := make(map[*Value]int, len(g.Nodes))
	for _, n := range g.Nodes {
		for _, v := range n.In {
			uses[v]++
		}
	}
	for _, o := range g.Outputs {
		uses[o.Value]++
	}
	for _, d := range g.Grads {
		uses[d.Value]++
	}
	return uses
}
