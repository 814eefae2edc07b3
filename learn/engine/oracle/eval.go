package oracle

import (
	"fmt"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// Eval computes a graph entirely in float64: nothing is rounded to float32, on no side. Fill
// the slices that Floats and Ints give, Run, and read the results with Of.
type Eval struct {
	g *graph.Graph
	m *machine
}

// NewEval prepares a graph. Params, states and slots start from zero.
func NewEval(g *graph.Graph) (*Eval, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	m, err := newMachine(g)
	if err != nil {
		return nil, err
	}
	return &Eval{g, m}, nil
}

// Floats is the contents of a floating-point input, param or state, to be read and written. A
// run overwrites what an operation of the graph overwrites. It is nil for an unknown name.
func (e *Eval) Floats(name string) []float64 {
	if v, ok := e.g.Lookup(name); ok {
		return e.m.values[v].f
	}
	return nil
}

// Ints is the contents of an int32 input, nil for an unknown name.
func (e *Eval) Ints(name string) []int32 {
	if v, ok := e.g.Lookup(name); ok {
		return e.m.values[v].i
	}
	return nil
}

// Run computes every value of the graph.
func (e *Eval) Run(step engine.Step) error {
	exec := func(o *op) error { return e.m.exec(o, step) }
	if err := e.m.each(false, exec); err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	e.m.settle(false)
	if err := e.m.each(true, exec); err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	return nil
}

// Of is what the last run computed for a value of floating-point type.
func (e *Eval) Of(v *graph.Value) []float64 { return e.m.values[v].f }
