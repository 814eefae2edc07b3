package nn

import "millrace.dev/learn/graph"

// BatchNorm normalises each channel, the last axis, over the batch (Ioffe & Szegedy 2015).
// Zero Eps means 1e-5, zero Momentum 0.1: the weight of the new batch in the running
// statistics.
type BatchNorm struct {
	Eps      float32 `json:",omitempty"`
	Momentum float32 `json:",omitempty"`
	Act      Act     `json:",omitempty"`
}

// Kind is "batch_norm".
func (BatchNorm) Kind() string { return "batch_norm" }

// On applies the layer without a name.
func (n BatchNorm) On(x *Node) *Node { return Apply(n, x) }

// Build appends the layer.
func (n BatchNorm) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 2)
	if !ok {
		return nil
	}
	c := x.Shape().Last()
	args := []*graph.Value{
		x, b.Bias("gamma", Ones(), c), b.Bias("beta", Zeros(), c),
		b.State("mean", Zeros(), c), b.State("variance", Ones(), c),
	}
	op := "batch_norm"
	if b.Mode == Eval {
		op = "batch_norm_infer"
	}
	attr := graph.NormAttr{Eps: orF(n.Eps, 1e-5), Momentum: orF(n.Momentum, 0.1)}
	return one(n.Act.on(b.Graph, b.Graph.Apply(op, attr, args...)[0]))
}

// LayerNorm normalises the last axis of each position (Ba et al. 2016). Zero Eps means 1e-5.
type LayerNorm struct {
	Eps float32 `json:",omitempty"`
}

// Kind is "layer_norm".
func (LayerNorm) Kind() string { return "layer_norm" }

// On applies the layer without a name.
func (n LayerNorm) On(x *Node) *Node { return Apply(n, x) }

// Build appends the layer.
func (n LayerNorm) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 2)
	if !ok {
		return nil
	}
	d := x.Shape().Last()
	attr := graph.NormAttr{Eps: orF(n.Eps, 1e-5)}
	return one(b.Graph.Apply("layer_norm", attr, x, b.Bias("gamma", Ones(), d), b.Bias("beta", Zeros(), d))[0])
}

func orF(v, otherwise float32) float32 {
	if v == 0 {
		return otherwise
	}
	return v
}
