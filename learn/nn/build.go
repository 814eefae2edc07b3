package nn

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// maxCalls bounds the applications of layers in one graph, those inside of models that are
// layers included: models within models multiply, and a saved model may come from anyone.
const maxCalls = 1 << 16

// inferBatch is the batch that shapes are inferred with.
const inferBatch = 2

// infer builds the graph once to learn shapes and weights.
func (m *Model) infer() error {
	g := graph.New()
	in := make([]*graph.Value, len(m.inputs))
	for i, n := range m.inputs {
		in[i] = g.Input(n.call.input.name, n.call.input.spec(inferBatch))
	}
	if g.Err() != nil {
		return m.errorf("%w", g.Err())
	}
	b := newBuilder(g, Train)
	values := map[*call][]*graph.Value{}
	g.Scope(m.Name, func() { m.build(b, in, values) })
	if err := g.Err(); err != nil {
		return err
	}
	m.weights = b.weights.list
	for _, c := range m.calls {
		for _, v := range values[c] {
			s := v.Shape()
			if len(s) == 0 || s[0] != inferBatch {
				return m.errorf("layer %s gives %v: the batch, here %d, must come first", m.names[c], v.Spec, inferBatch)
			}
			m.shapes[c] = append(m.shapes[c], s[1:])
		}
	}
	return nil
}

func (s *inputSpec) spec(batch int) graph.Spec {
	return graph.Spec{DType: s.dtype, Shape: append(tensor.Shape{batch}, s.shape...)}
}

// build appends every call and returns the outputs; values receives what each call gave.
func (m *Model) build(b *Builder, in []*graph.Value, values map[*call][]*graph.Value) []*graph.Value {
	for i, n := range m.inputs {
		values[n.call] = in[i : i+1]
	}
	for _, c := range m.calls {
		if c.layer == nil {
			continue
		}
		b.Graph.Scope(m.layers[c.layer], func() { values[c] = m.apply(b, c, values) })
		if b.Graph.Err() != nil {
			return make([]*graph.Value, len(m.outputs))
		}
	}
	out := make([]*graph.Value, len(m.outputs))
	for i, n := range m.outputs {
		out[i] = values[n.call][n.out]
	}
	return out
}

func (m *Model) apply(b *Builder, c *call, values map[*call][]*graph.Value) []*graph.Value {
	args := make([]*graph.Value, len(c.in))
	for i, n := range c.in {
		args[i] = values[n.call][n.out]
	}
	if b.calls++; b.calls > maxCalls {
		return b.Failf(args, "the model applies more than %d layers", maxCalls)
	}
	out := c.layer.Spec.Build(b, args)
	if want := numOutputs(c.layer.Spec); len(out) != want && b.Graph.Err() == nil {
		return b.Failf(args, "gave %d outputs, promised %d", len(out), want)
	}
	return out
}

// Built is a model's place in a graph.
type Built struct {
	Inputs  []*graph.Value
	Outputs []*graph.Value
}

// Graph appends the model to g for a batch size and a mode, declaring its inputs. The graph's
// Err says what went wrong, if anything; the outputs are then nil.
func (m *Model) Graph(g *graph.Graph, batch int, mode Mode) Built {
	built := Built{Outputs: make([]*graph.Value, len(m.outputs))}
	for _, n := range m.inputs {
		built.Inputs = append(built.Inputs, g.Input(n.call.input.name, n.call.input.spec(batch)))
	}
	if g.Err() == nil {
		g.Scope(m.Name, func() {
			built.Outputs = m.build(newBuilder(g, mode), built.Inputs, map[*call][]*graph.Value{})
		})
	}
	return built
}

// Build appends the model as a layer of another.
func (m *Model) Build(b *Builder, in []*graph.Value) []*graph.Value {
	if len(in) != len(m.inputs) {
		return b.Failf(in, "model %q takes %d inputs, got %d", m.Name, len(m.inputs), len(in))
	}
	for i, n := range m.inputs {
		want := n.call.input
		got := in[i].Spec
		if len(got.Shape) == 0 || got.DType != want.dtype || !got.Shape[1:].Equal(want.shape) {
			return b.Failf(in, "model %q wants samples of %v%v as input %q, got %v", m.Name, want.dtype, want.shape, want.name, got)
		}
	}
	return m.build(b, in, map[*call][]*graph.Value{})
}

// Failf records what is wrong with the layer's operands, unless an error stands already. What
// it returns is as good as any result.
func (b *Builder) Failf(in []*graph.Value, format string, args ...any) []*graph.Value {
	specs := make([]graph.Spec, len(in))
	for i, v := range in {
		specs[i] = v.Spec
	}
	b.Graph.Fail(&graph.ShapeError{Path: b.Graph.Path(), Op: "layer", In: specs, Err: fmt.Errorf(format, args...)})
	return nil
}

// one checks that a layer is applied to a single value of at least rank axes, batch included.
func (b *Builder) one(in []*graph.Value, rank int) (*graph.Value, bool) {
	if len(in) != 1 {
		b.Failf(in, "takes one input, got %d", len(in))
		return nil, false
	}
	if len(in[0].Shape()) < rank {
		b.Failf(in, "needs an input with %d axes or more besides the batch", rank-1)
		return nil, false
	}
	return in[0], b.Graph.Err() == nil
}
