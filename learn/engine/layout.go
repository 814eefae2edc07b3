package engine

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// lineElems is the alignment of params in the flat vectors, in elements: a cache line, so that
// two params never share one.
const lineElems = tensor.Align / 4

// Place is where a named param or state stands in a flat vector.
type Place struct {
	Name  string
	Shape tensor.Shape
	Off   int // in elements
}

// Len is the number of elements.
func (p Place) Len() int { return p.Shape.Elems() }

// Layout places the params and states of a model. The elements between places are padding
// and always 0.
type Layout struct {
	Params   []Place // in the order of their offsets: backward order
	States   []Place
	ParamLen int // elements of the param, gradient and slot vectors
	StateLen int // elements of the state vector
	Slots    int // number of optimiser slot vectors

	params, states map[string]int
}

// NewLayout places the graph's params in reverse order of their declaration.
func NewLayout(g *graph.Graph) (*Layout, error) {
	l := &Layout{params: map[string]int{}, states: map[string]int{}}
	for i := len(g.Params) - 1; i >= 0; i-- {
		l.params[g.Params[i].Name] = len(l.Params)
		l.Params = append(l.Params, place(g.Params[i], &l.ParamLen))
	}
	for _, s := range g.States {
		l.states[s.Name] = len(l.States)
		l.States = append(l.States, place(s, &l.StateLen))
	}
	for _, s := range g.Slots {
		l.Slots = max(l.Slots, s.Slot+1)
	}
	if l.ParamLen > tensor.MaxElems || l.StateLen > tensor.MaxElems {
		return nil, fmt.Errorf("engine: the model has %d parameters and %d states, more than %d", l.ParamLen, l.StateLen, tensor.MaxElems)
	}
	return l, nil
}

func place(v *graph.Value, length *int) Place {
	p := Place{v.Name, v.Shape().Clone(), *length}
	*length += (p.Len() + lineElems - 1) / lineElems * lineElems
	return p
}

// Param finds a param's place.
func (l *Layout) Param(name string) (Place, bool) { return find(l.Params, l.params, name) }

// State finds a state's place.
func (l *Layout) State(name string) (Place, bool) { return find(l.States, l.states, name) }

func find(ps []Place, index map[string]int, name string) (Place, bool) {
	i, ok := index[name]
	if !ok {
		return Place{}, false
	}
	return ps[i], true
}

// Fits reports, by name and shape, the first param, state or slot of the graph for which the
// layout has no place.
func (l *Layout) Fits(g *graph.Graph) error {
	for _, v := range g.Params {
		if p, ok := l.Param(v.Name); !ok || !p.Shape.Equal(v.Shape()) {
			return fmt.Errorf("engine: the layout has no place for param %q of shape %v", v.Name, v.Shape())
		}
	}
	for _, v := range g.States {
		if p, ok := l.State(v.Name); !ok || !p.Shape.Equal(v.Shape()) {
			return fmt.Errorf("engine: the layout has no place for state %q of shape %v", v.Name, v.Shape())
		}
	}
	for _, v := range g.Slots {
		if v.Slot >= l.Slots {
			return fmt.Errorf("engine: the layout has %d optimiser slots, %q needs slot %d", l.Slots, v.SlotOf.Name, v.Slot)
		}
	}
	return nil
}

// Vectors are a model's numbers: each field one flat, aligned vector.
type Vectors struct {
	Layout *Layout
	Params []float32
	Grads  []float32
	Slots  [][]float32
	States []float32
}

// NewVectors allocates zeroed vectors.
func (l *Layout) NewVectors() *Vectors {
	v := &Vectors{
		Layout: l,
		Params: tensor.AlignedF32(l.ParamLen),
		Grads:  tensor.AlignedF32(l.ParamLen),
		States: tensor.AlignedF32(l.StateLen),
	}
	for range l.Slots {
		v.Slots = append(v.Slots, tensor.AlignedF32(l.ParamLen))
	}
	return v
}

// Param is the named param's part of the param vector, nil when there is none.
func (v *Vectors) Param(name string) []float32 { return part(v.Params, v.Layout.Param, name) }

// Grad is the named param's part of the gradient vector, nil when there is none.
func (v *Vectors) Grad(name string) []float32 { return part(v.Grads, v.Layout.Param, name) }

// Slot is the named param's part of the k-th slot vector, nil when there is none.
func (v *Vectors) Slot(k int, name string) []float32 {
	return part(v.Slots[k], v.Layout.Param, name)
}

// State is the named state's part of the state vector, nil when there is none.
func (v *Vectors) State(name string) []float32 { return part(v.States, v.Layout.State, name) }

func part(vec []float32, find func(string) (Place, bool), name string) []float32 {
	p, ok := find(name)
	if !ok {
		return nil
	}
	return vec[p.Off : p.Off+p.Len() : p.Off+p.Len()]
}
