package nn_test

import (
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/tensor"
)

// sequence makes a model of specs applied to one input, or fails.
func sequence(t testing.TB, in *nn.Node, specs ...nn.Spec) *nn.Model {
	t.Helper()
	m, err := nn.Sequential("m", in, specs...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// forward runs a model on the float64 engine with fresh weights of seed 1; each input is filled
// by fill from its name and an element's index.
func forward(t testing.TB, m *nn.Model, batch int, mode nn.Mode, fill func(name string, i int) float32) []*tensor.Tensor {
	t.Helper()
	g := graph.New()
	b := m.Graph(g, batch, mode)
	for i, v := range b.Outputs {
		g.Output(string(rune('a'+i)), v)
	}
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := oracle.New().Compile(g, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := p.Layout().NewVectors()
	if err := m.Init(v, 1); err != nil {
		t.Fatal(err)
	}
	r, err := p.NewReplica(v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.NumInputs() {
		x := r.Input(m.InputName(i))
		for k := range x.F32() {
			x.F32()[k] = fill(m.InputName(i), k)
		}
		for k := range x.I32() {
			x.I32()[k] = int32(fill(m.InputName(i), k))
		}
	}
	if err := r.Run(engine.All, engine.Step{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	out := make([]*tensor.Tensor, m.NumOutputs())
	for i := range out {
		out[i] = r.Output(string(rune('a' + i)))
	}
	return out
}

func ramp(_ string, i int) float32 { return float32(i%7) - 3 }
