package nn

import (
	"fmt"

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
	m := &Model{Name: name, inputs: inputs, outputs: outputs, shapes: map[*call][]tensor.Shape{}}
	if name == "" || len(inputs) == 0 || len(outputs) == 0 {
		return nil, fmt.Errorf("nn: a model needs a name, inputs and outputs")
	}
	if err := m.order(); err != nil {
		return nil, err
	}
	if err := m.nameLayers(); err != nil {
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

// order lists the calls that the outputs need, each after its operands.
func (m *Model) order() error {
	done := map[*call]bool{}
	for _, n := range m.inputs {
		if n == nil || n.call.input == nil {
			return fmt.Errorf("nn: model %q: an input was not made with Input or Indices", m.Name)
		}
		if !done[n.call] {
			m.calls = append(m.calls, n.call)
		}
		done[n.call] = true
	}
	var visit func(n *Node) error
	visit = func(n *Node) error {
		if n == nil {
			return fmt.Errorf("nn: model %q: a layer is applied to nothing", m.Name)
		}
		if done[n.call] {
			return nil
		}
		if n.call.input != nil {
			return fmt.Errorf("nn: model %q uses input %q but does not list it", m.Name, n.call.input.name)
		}
		done[n.call] = true
		for _, p := range n.call.in {
			if err := visit(p); err != nil {
				return err
			}
		}
		m.calls = append(m.calls, n.call)
		return nil
	}
	for _, n := range m.outputs {
		if err := visit(n); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) nameLayers() error {
	owner, count := map[string]any{}, map[string]int{}
	claim := func(name string, who any) error {
		if prev, ok := owner[name]; ok && prev != who {
			return fmt.Errorf("nn: model %q: two layers or inputs are named %q", m.Name, name)
		}
		owner[name] = who
		return nil
	}
	for _, c := range m.calls {
		name, who := "", any(c)
		if c.input != nil {
			name = c.input.name
		} else {
			name, who = c.layer.Name, c.layer
		}
		if name == "" {
			continue
		}
		if err := claim(name, who); err != nil {
			return err
		}
	}
	for _, c := range m.calls {
		if c.layer == nil || c.layer.Name != "" {
			continue
		}
		for c.layer.Name == "" {
			kind := c.layer.Spec.Kind()
			count[kind]++
			if name := fmt.Sprintf("%s_%d", kind, count[kind]); owner[name] == nil {
				c.layer.Name, owner[name] = name, c.layer
			}
		}
	}
	return nil
}

// infer builds the graph once, for a batch of two, to learn shapes and weights.
func (m *Model) infer() error {
	g := graph.New()
	w := &weightList{index: map[string]int{}}
	in := make([]*graph.Value, len(m.inputs))
	for i, n := range m.inputs {
		in[i] = g.Input(n.call.input.name, n.call.input.spec(2))
	}
	values := map[*call][]*graph.Value{}
	m.build(&Builder{Graph: g, Mode: Train, weights: w}, in, values)
	if err := g.Err(); err != nil {
		return err
	}
	m.weights = w.list
	for c, vs := range values {
		for _, v := range vs {
			m.shapes[c] = append(m.shapes[c], v.Shape()[min(1, len(v.Shape())):])
		}
	}
	return nil
}

func (s *inputSpec) spec(batch int) graph.Spec {
	return graph.Spec{DType: s.dtype, Shape: append(tensor.Shape{batch}, s.shape...)}
}

// build appends every call; values receives what each call gave and may be nil.
func (m *Model) build(b *Builder, in []*graph.Value, values map[*call][]*graph.Value) []*graph.Value {
	if values == nil {
		values = map[*call][]*graph.Value{}
	}
	b.Graph.Scope(m.Name, func() {
		for i, n := range m.inputs {
			values[n.call] = in[i : i+1]
		}
		for _, c := range m.calls {
			if c.layer != nil && b.Graph.Err() == nil {
				b.Graph.Scope(c.layer.Name, func() { values[c] = m.apply(b, c, values) })
			}
		}
	})
	out := make([]*graph.Value, len(m.outputs))
	for i, n := range m.outputs {
		if b.Graph.Err() != nil {
			return make([]*graph.Value, len(m.outputs))
		}
		out[i] = values[n.call][n.out]
	}
	return out
}

func (m *Model) apply(b *Builder, c *call, values map[*call][]*graph.Value) []*graph.Value {
	args := make([]*graph.Value, len(c.in))
	for i, n := range c.in {
		args[i] = values[n.call][n.out]
	}
	out := c.layer.Spec.Build(b, args)
	if want := numOutputs(c.layer.Spec); len(out) != want && b.Graph.Err() == nil {
		b.Failf(args, "gave %d outputs, promised %d", len(out), want)
	}
	return out
}

// Built is a model's place in a graph.
type Built struct {
	Inputs  []*graph.Value
	Outputs []*graph.Value
}

// Graph appends the model to g for a batch size and a mode, declaring its inputs. The graph's
// Err says what went wrong, if anything.
func (m *Model) Graph(g *graph.Graph, batch int, mode Mode) Built {
	var b Built
	for _, n := range m.inputs {
		b.Inputs = append(b.Inputs, g.Input(n.call.input.name, n.call.input.spec(batch)))
	}
	b.Outputs = m.build(&Builder{Graph: g, Mode: mode, weights: &weightList{index: map[string]int{}}}, b.Inputs, nil)
	return b
}

// Kind makes a Model a Spec: a model can be a layer of another one.
func (m *Model) Kind() string { return "model" }

// NumOutputs is the number of the model's outputs.
func (m *Model) NumOutputs() int { return len(m.outputs) }

// Build appends the model as a layer.
func (m *Model) Build(b *Builder, in []*graph.Value) []*graph.Value {
	if len(in) != len(m.inputs) {
		return b.Failf(in, "model %q takes %d inputs, got %d", m.Name, len(m.inputs), len(in))
	}
	for i, n := range m.inputs {
		if want := n.call.input.spec(in[i].Shape()[0]); !want.Equal(in[i].Spec) {
			return b.Failf(in, "model %q wants %v as input %q, got %v", m.Name, want, n.call.input.name, in[i].Spec)
		}
	}
	return m.build(b, in, nil)
}

// Weights lists params and states in the order of the forward pass.
func (m *Model) Weights() []Weight { return m.weights }

// NumParams is the number of trained weights.
func (m *Model) NumParams() int {
	n := 0
	for _, w := range m.weights {
		if !w.State {
			n += w.Shape.Elems()
		}
	}
	return n
}

// InputShape is the shape, without the batch, of the i-th input.
func (m *Model) InputShape(i int) tensor.Shape { return m.inputs[i].call.input.shape }

// InputName is the name of the i-th input.
func (m *Model) InputName(i int) string { return m.inputs[i].call.input.name }

// OutputShape is the shape, without the batch, of the i-th output.
func (m *Model) OutputShape(i int) tensor.Shape {
	n := m.outputs[i]
	return m.shapes[n.call][n.out]
}

// Init fills the vectors' params and states for a seed. What a weight gets depends on the seed
// and its name alone.
func (m *Model) Init(v *engine.Vectors, seed uint64) error {
	for _, w := range m.weights {
		dst := v.Param(w.Name)
		if w.State {
			dst = v.State(w.Name)
		}
		if dst == nil {
			return fmt.Errorf("nn: the vectors have no place for %q", w.Name)
		}
		if err := w.Init.fill(dst, w.Shape, seed, w.Name); err != nil {
			return fmt.Errorf("nn: %s: %w", w.Name, err)
		}
	}
	return nil
}
