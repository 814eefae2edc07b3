package nn

import (
	"fmt"
	"slices"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// Model is a computation between named inputs and outputs. It is immutable.
type Model struct {
	Name    string
	calls   []*call // in topological order, inputs first
	inputs  []*Node
	outputs []*Node
	names   map[*call]string // of inputs and applications, unique
	layers  map[*Layer]string
	weights []Weight
	shapes  map[*call][]tensor.Shape // outputs of each call, without the batch
}

// In and Out make the lists that NewModel takes readable.
func In(nodes ...*Node) []*Node { return nodes }

// Out lists a model's outputs.
func Out(nodes ...*Node) []*Node { return nodes }

// NewModel makes a model of what lies between inputs and outputs. It fails on a name that two
// layers have, on an input that is used but not listed, and on shapes that do not fit.
func NewModel(name string, inputs, outputs []*Node) (*Model, error) {
	m := &Model{Name: name, inputs: slices.Clone(inputs), outputs: slices.Clone(outputs), shapes: map[*call][]tensor.Shape{}}
	if len(inputs) == 0 || len(outputs) == 0 {
		return nil, m.errorf("it needs inputs and outputs")
	}
	if err := m.order(); err != nil {
		return nil, err
	}
	if err := m.nameAll(); err != nil {
		return nil, err
	}
	return m, m.infer()
}

// Sequential makes a model of layers applied one after the other.
func Sequential(name string, input *Node, specs ...Spec) (*Model, error) {
	x := input
	for _, s := range specs {
		x = Apply(s, x)
	}
	return NewModel(name, In(input), Out(x))
}

// ModelError says what is wrong with how a model is put together. What does not fit in shape
// is a *graph.ShapeError instead.
type ModelError struct {
	Model string
	Err   error
}

func (e *ModelError) Error() string { return fmt.Sprintf("model %q: %v", e.Model, e.Err) }

func (e *ModelError) Unwrap() error { return e.Err }

// BadInput marks the error as the fault of the model's description.
func (e *ModelError) BadInput() bool { return true }

func (m *Model) errorf(format string, args ...any) error {
	return &ModelError{m.Name, fmt.Errorf(format, args...)}
}

// Kind makes a Model a Spec: a model can be a layer of another one.
func (m *Model) Kind() string { return "model" }

// NumInputs is the number of the model's inputs.
func (m *Model) NumInputs() int { return len(m.inputs) }

// NumOutputs is the number of the model's outputs.
func (m *Model) NumOutputs() int { return len(m.outputs) }

// InputShape is the shape, without the batch, of the i-th input.
func (m *Model) InputShape(i int) tensor.Shape { return m.inputs[i].call.input.shape }

// InputName is the name of the i-th input.
func (m *Model) InputName(i int) string { return m.inputs[i].call.input.name }

// OutputShape is the shape, without the batch, of the i-th output.
func (m *Model) OutputShape(i int) tensor.Shape {
	n := m.outputs[i]
	return m.shapes[n.call][n.out]
}

// Weights lists params and states in the order of the forward pass. The caller does not change
// it.
func (m *Model) Weights() []Weight { return m.weights }

// NumParams is the number of trained weights.
func (m *Model) NumParams() int { return m.count(false) }

// NumStates is the number of weights that are kept but not trained.
func (m *Model) NumStates() int { return m.count(true) }

func (m *Model) count(states bool) int {
	n := 0
	for _, w := range m.weights {
		if w.State == states {
			n += w.Shape.Elems()
		}
	}
	return n
}

// Decays reports whether weight decay suits a param: it does not suit biases and the factors
// of normalisations.
func (m *Model) Decays(param string) bool {
	for _, w := range m.weights {
		if w.Name == param {
			return w.Decay
		}
	}
	return false
}

// NewVectors allocates vectors for the model's weights, for programs that do not train. Those
// that do have slots besides and make their own.
func (m *Model) NewVectors() (*engine.Vectors, error) {
	g := graph.New()
	m.Graph(g, 1, Eval)
	if err := g.Err(); err != nil {
		return nil, err
	}
	l, err := engine.NewLayout(g)
	if err != nil {
		return nil, err
	}
	return l.NewVectors(), nil
}

// Place is the weight's part of the vectors, nil when they have none.
func (w Weight) Place(v *engine.Vectors) []float32 {
	if w.State {
		return v.State(w.Name)
	}
	return v.Param(w.Name)
}

// Init fills the vectors' params and states for a seed. What a weight gets depends on the seed
// and its name alone.
func (m *Model) Init(v *engine.Vectors, seed uint64) error {
	for _, w := range m.weights {
		dst := w.Place(v)
		if dst == nil {
			return m.errorf("the vectors have no place for %q", w.Name)
		}
		if err := w.Init.fill(dst, w.Shape, seed, w.Name); err != nil {
			return m.errorf("%s: %w", w.Name, err)
		}
	}
	return nil
}
