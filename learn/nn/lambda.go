package nn

import "millrace.dev/learn/graph"

// Lambda is a layer without weights made of a function of its inputs. A model with one cannot
// be saved: code is not data. A layer that can be is a type of its own that implements Spec;
// see Register.
type Lambda struct {
	Name string // stands for the kind, as in "swap_halves"
	F    func(g *graph.Graph, in []*graph.Value) *graph.Value
}

// Kind is the name of the function.
func (l Lambda) Kind() string { return l.Name }

// On applies the layer without a name.
func (l Lambda) On(xs ...*Node) *Node { return Apply(l, xs...) }

// Build appends the layer.
func (l Lambda) Build(b *Builder, in []*graph.Value) []*graph.Value {
	return one(l.F(b.Graph, in))
}
