package graph

import "fmt"

// DropoutAttr of "dropout". The mask is a function of (the replica's seed, the step, Stream,
// the element's index), so that the same operation applied to the gradient uses the same mask.
type DropoutAttr struct {
	Rate   float32 // share of elements set to zero; the others are divided by 1−Rate
	Stream uint32  // tells one dropout of a model from another
}

var _ = builtin(OpDef{
	Name: "dropout",
	Infer: func(in []Spec, attr any) ([]Spec, error) {
		a, ok := attr.(DropoutAttr)
		if err := wantArgs(in, 1); err != nil {
			return nil, err
		}
		if !ok || !(a.Rate >= 0 && a.Rate < 1) {
			return nil, fmt.Errorf("rate %v is outside [0, 1)", a.Rate)
		}
		return in[:1], nil
	},
	VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
		return []*Value{g.Apply("dropout", n.Attr, dy[0])[0]}
	},
})

// Dropout zeroes a random share of x in training (Srivastava et al. 2014).
func (g *Graph) Dropout(x *Value, a DropoutAttr) *Value { return g.Apply("dropout", a, x)[0] }
