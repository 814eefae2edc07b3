package graph

import (
	"fmt"
	"slices"

	"millrace.dev/learn/tensor"
)

// ReduceAttr says what is reduced ("sum", "mean" or "max") over which axes, ascending. The
// reduced axes stay with size 1 when Keep is set and vanish otherwise.
type ReduceAttr struct {
	Kind ReduceKind
	Axes []int
	Keep bool
}

// ReduceKind names a reduction.
type ReduceKind string

// The reductions. RMax has no gradient.
const (
	RSum  ReduceKind = "sum"
	RMean ReduceKind = "mean"
	RMax  ReduceKind = "max"
)

// ShapeAttr is the target shape of "reshape" and "broadcast".
type ShapeAttr struct{ Shape tensor.Shape }

var _ = builtin(
	// reduce: x → x reduced over some axes.
	OpDef{
		Name: "reduce",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(ReduceAttr)
			if err := wantArgs(in, 1); err != nil || !ok {
				return nil, fmt.Errorf("wants one operand and axes: %v", err)
			}
			if a.Kind != RSum && a.Kind != RMean && a.Kind != RMax {
				return nil, fmt.Errorf("unknown reduction %q", a.Kind)
			}
			out, err := reduced(in[0].Shape, a)
			return []Spec{{tensor.Float32, out}}, err
		},
		VJP: reduceVJP,
	},
	// broadcast: x → x stretched to a shape.
	OpDef{
		Name: "broadcast",
		Infer: func(in []Spec, attr any) ([]Spec, error) {
			a, ok := attr.(ShapeAttr)
			if err := wantArgs(in, 1); err != nil || !ok {
				return nil, fmt.Errorf("wants one operand and a shape: %v", err)
			}
			s, err := tensor.Broadcast(in[0].Shape, a.Shape)
			if err == nil && !s.Equal(a.Shape) {
				err = fmt.Errorf("does not stretch to %v", a.Shape)
			}
			return []Spec{{tensor.Float32, a.Shape}}, err
		},
		VJP: func(g *Graph, n *Node, dy []*Value) []*Value {
			return []*Value{g.SumTo(dy[0], n.In[0].Shape())}
		},
	},
)

func reduced(s tensor.Shape, a ReduceAttr) (tensor.Shape, error) {
	out := tensor.Shape{}
	for i, d := range s {
		switch {
		case !slices.Contains(a.Axes, i):
			out = append(out, d)
		case a.Keep:
			out = append(out, 1)
		}
	}
	for i, ax := range a.Axes {
		if ax < 0 || ax >= len(s) || i > 0 && ax <= a.Axes[i-1] {
			return nil, fmt.Errorf("axes %v do not fit rank %d or do not ascend", a.Axes, len(s))
		}
		if s[ax] == 0 && a.Kind != RSum {
			return nil, fmt.Errorf("%s over an empty axis", a.Kind)
		}
	}
	return out, nil
}

func reduceVJP(g *Graph, n *Node, dys []*Value) []*Value {
	a, x, dy := n.Attr.(ReduceAttr), n.In[0], dys[0]
	if a.Kind == RMax {
		g.Fail(fmt.Errorf("graph: %s: reduce max has no gradient", n.Path))
		return []*Value{nil}
	}
	kept, _ := reduced(x.Shape(), ReduceAttr{a.Kind, a.Axes, true})
	dy = g.Reshape(dy, kept...)
	if n := averaged(x.Shape(), a.Axes); a.Kind == RMean {
		dy = g.Mul(dy, g.Scalar(float32(1/float64(n))))
	}
	return []*Value{g.Broadcast(dy, x.Shape()...)}
}

// averaged is the number of elements that go into one result.
func averaged(s tensor.Shape, axes []int) int {
	n := 1
	for _, ax := range axes {
		n *= s[ax]
	}
	return n
}

// Reduce reduces x over the given axes, which vanish.
func (g *Graph) Reduce(k ReduceKind, x *Value, axes ...int) *Value {
	return g.Apply("reduce", ReduceAttr{k, axes, false}, x)[0]
}

// Mean is the mean over the given axes, over all of them when none is given.
func (g *Graph) Mean(x *Value, axes ...int) *Value { return g.Reduce(RMean, x, orAll(x, axes)...) }

// Sum is the sum over the given axes, over all of them when none is given.
func (g *Graph) Sum(x *Value, axes ...int) *Value { return g.Reduce(RSum, x, orAll(x, axes)...) }

func orAll(x *Value, axes []int) []int {
	if len(axes) > 0 {
		return axes
	}
	for i := range x.Shape() {
		axes = append(axes, i)
	}
	return axes
}

// Broadcast stretches x to a shape.
func (g *Graph) Broadcast(x *Value, shape ...int) *Value {
	if x.Shape().Equal(shape) {
		return x
	}
	return g.Apply("broadcast", ShapeAttr{shape}, x)[0]
}

// SumTo undoes a broadcast: it sums x over the axes along which shape was stretched to x's.
func (g *Graph) SumTo(x *Value, shape tensor.Shape) *Value {
	if x.Shape().Equal(shape) {
		return x
	}
	lead := len(x.Shape()) - len(shape)
	axes := []int{}
	for i, d := range x.Shape() {
		if i < lead || shape[i-lead] == 1 && d != 1 {
			axes = append(axes, i)
		}
	}
	return g.Reshape(g.Apply("reduce", ReduceAttr{RSum, axes, false}, x)[0], shape...)
}
