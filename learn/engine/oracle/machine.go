package oracle

import (
	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// machine holds an array for every value of a graph and knows how to execute its nodes.
type machine struct {
	g      *graph.Graph
	ops    []op
	values map[*graph.Value]*array
	grads  []*array // as the update stage reads them, one for each of g.Grads
}

// op is a node ready to run.
type op struct {
	call
	run  func(*call) error // nil for a source and a view
	late bool              // belongs to the update stage
}

func newMachine(g *graph.Graph) (*machine, error) {
	m := &machine{g: g, values: map[*graph.Value]*array{}}
	byParam, byValue := map[*graph.Value]*array{}, map[*graph.Value]*array{}
	for _, d := range g.Grads {
		a := newArray(d.Param.Spec)
		m.grads = append(m.grads, a)
		byParam[d.Param] = a
		if byValue[d.Value] == nil {
			byValue[d.Value] = a
		}
	}
	late := g.UpdateStage()
	for i, n := range g.Nodes {
		o := op{call: call{node: n}, late: late[i]}
		for k, v := range n.In {
			a := m.values[v]
			if late[i] && byValue[v] != nil {
				a = byValue[v]
				if n.Op == "update" && k == 3 && byParam[n.In[2]] != nil {
					a = byParam[n.In[2]]
				}
			}
			o.in = append(o.in, a)
		}
		for _, v := range n.Out {
			a := newArray(v.Spec)
			m.values[v] = a
			o.out = append(o.out, a)
		}
		switch n.Op {
		case "const":
			loadF32(o.out[0].f, n.Attr.(graph.ConstAttr).Data)
		case "reshape": // a view
			o.out[0].f, o.out[0].i, o.out[0].u = o.in[0].f, o.in[0].i, o.in[0].u
		case "input", "param", "state":
		default:
			run, err := kernelOf(n)
			if err != nil {
				return nil, err
			}
			o.run = run
		}
		m.ops = append(m.ops, o)
	}
	return m, nil
}

// exec runs one node and fails on a loss or gradient norm that is not finite.
func (m *machine) exec(o *op, step engine.Step) error {
	if o.run == nil {
		return nil
	}
	o.step = step
	if err := o.run(&o.call); err != nil {
		return &engine.RunError{Path: o.node.Path, Op: o.node.Op, Err: err}
	}
	what := map[string]string{"softmax_xent": "loss", "loss": "loss", "clip_scale": "gradient norm"}[o.node.Op]
	if what == "" {
		return nil
	}
	if at, x := o.out[0].finite(); at >= 0 {
		return nonFinite(o.node, what, x)
	}
	return nil
}

func nonFinite(n *graph.Node, what string, x float64) error {
	return &engine.RunError{Path: n.Path, Op: n.Op, Err: &engine.NonFiniteError{What: what, Value: x}}
}

// bytes of all arrays.
func (m *machine) bytes() int {
	n := 0
	for _, a := range m.values {
		n += a.bytes()
	}
	for _, a := range m.grads {
		n += a.bytes()
	}
	return n
}

// settle copies the gradients to where the update stage reads them, rounded to float32 when
// they stand for the gradient vector.
func (m *machine) settle(round bool) {
	for k, d := range m.g.Grads {
		copy(m.grads[k].f, m.values[d.Value].f)
		if round {
			for i, x := range m.grads[k].f {
				m.grads[k].f[i] = flush(float64(float32(x)))
			}
		}
	}
}

// trace runs everything but updates and reports the first result, param, state or input that
// is not finite.
func (m *machine) trace(step engine.Step) error {
	look := func(o *op) error {
		if o.node.Op == "update" {
			return nil
		}
		if o.run != nil {
			o.step = step
			if err := o.run(&o.call); err != nil {
				return &engine.RunError{Path: o.node.Path, Op: o.node.Op, Err: err}
			}
		}
		for _, a := range o.out {
			if at, x := a.finite(); at >= 0 {
				return nonFinite(o.node, describe(o.node), x)
			}
		}
		return nil
	}
	if err := m.each(false, look); err != nil {
		return err
	}
	m.settle(true)
	return m.each(true, look)
}

// each calls f for the nodes that belong to the update stage, or for those that do not, in
// order, up to the first error.
func (m *machine) each(late bool, f func(o *op) error) error {
	for i := range m.ops {
		if o := &m.ops[i]; o.late == late {
			if err := f(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe names what a node makes, for a message.
func describe(n *graph.Node) string {
	switch n.Op {
	case "param":
		return "weights of " + n.Out[0].Name
	case "state", "input":
		return n.Op + " " + n.Out[0].Name
	}
	return "result"
}
