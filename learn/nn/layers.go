package nn

import (
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// Act names an activation, one of the graph's functions of one operand; "" is none.
type Act string

// The usual activations; any other graph.Kind of one operand will do as well.
const (
	Linear    Act = ""
	ReLU      Act = Act(graph.Relu)
	LeakyReLU Act = Act(graph.LeakyReLU) // with the slope 0.01; see Activation for others
	Sigmoid   Act = Act(graph.Sigmoid)
	Tanh      Act = Act(graph.Tanh)
	GELU      Act = Act(graph.GELU)
	GELUTanh  Act = Act(graph.GELUTanh)
	SiLU      Act = Act(graph.SiLU)
)

const leakySlope = 0.01

func (a Act) on(g *graph.Graph, x *graph.Value) *graph.Value {
	switch a {
	case Linear:
		return x
	case LeakyReLU:
		return g.Leaky(leakySlope, x)
	}
	return g.Unary(graph.Kind(a), x)
}

// one is a layer's single result as the list that Build returns.
func one(v *graph.Value) []*graph.Value { return []*graph.Value{v} }

// Dense is act(x·W + b) on the last axis: […, in] → […, Units].
type Dense struct {
	Units  int
	Act    Act  `json:",omitempty"`
	NoBias bool `json:",omitempty"`
	Init   Init `json:",omitzero"` // of W; the zero value is Glorot uniform
}

// Kind is "dense".
func (Dense) Kind() string { return "dense" }

// On applies the layer without a name.
func (d Dense) On(x *Node) *Node { return Apply(d, x) }

// Build appends the layer.
func (d Dense) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 2)
	if !ok {
		return nil
	}
	if d.Units < 1 {
		return b.Failf(in, "dense needs units ≥ 1, got %d", d.Units)
	}
	g, s := b.Graph, x.Shape()
	y := g.MatMul(g.Reshape(x, s.Rows(), s.Last()), b.Param("kernel", d.Init.or(GlorotUniform()), s.Last(), d.Units))
	if !d.NoBias {
		y = g.Add(y, b.Bias("bias", Zeros(), d.Units))
	}
	y = d.Act.on(g, y)
	return one(g.Reshape(y, append(s[:len(s)-1].Clone(), d.Units)...))
}

// Flatten keeps the batch and joins all other axes.
type Flatten struct{}

// Kind is "flatten".
func (Flatten) Kind() string { return "flatten" }

// On applies the layer without a name.
func (f Flatten) On(x *Node) *Node { return Apply(f, x) }

// Build appends the layer.
func (Flatten) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 1)
	if !ok {
		return nil
	}
	return one(b.Graph.Reshape(x, x.Shape()[0], x.Shape()[1:].Elems()))
}

// Reshape gives each sample another shape with as many elements.
type Reshape struct{ Shape tensor.Shape }

// Kind is "reshape".
func (Reshape) Kind() string { return "reshape" }

// On applies the layer without a name.
func (r Reshape) On(x *Node) *Node { return Apply(r, x) }

// Build appends the layer.
func (r Reshape) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 1)
	if !ok {
		return nil
	}
	return one(b.Graph.Reshape(x, append(tensor.Shape{x.Shape()[0]}, r.Shape...)...))
}

// Activation applies a function to every element. Slope is that of LeakyReLU for negative
// values, where 0 means 0.01.
type Activation struct {
	Act   Act
	Slope float32 `json:",omitempty"`
}

// Kind is "activation".
func (Activation) Kind() string { return "activation" }

// On applies the layer without a name.
func (a Activation) On(x *Node) *Node { return Apply(a, x) }

// Build appends the layer.
func (a Activation) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 1)
	if !ok {
		return nil
	}
	if a.Act == LeakyReLU {
		return one(b.Graph.Leaky(orF(a.Slope, leakySlope), x))
	}
	return one(a.Act.on(b.Graph, x))
}

// Softmax normalises the last axis.
type Softmax struct{}

// Kind is "softmax".
func (Softmax) Kind() string { return "softmax" }

// On applies the layer without a name.
func (s Softmax) On(x *Node) *Node { return Apply(s, x) }

// Build appends the layer.
func (Softmax) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 2)
	if !ok {
		return nil
	}
	return one(b.Graph.Softmax(x))
}

// Dropout zeroes a random share of its input in training.
type Dropout struct{ Rate float32 }

// Kind is "dropout".
func (Dropout) Kind() string { return "dropout" }

// On applies the layer without a name.
func (d Dropout) On(x *Node) *Node { return Apply(d, x) }

// Build appends the layer.
func (d Dropout) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 2)
	if !ok {
		return nil
	}
	if b.Mode == Eval {
		return one(x)
	}
	return one(b.Graph.Dropout(x, graph.DropoutAttr{Rate: d.Rate, Stream: b.stream()}))
}

// Embedding looks up a row of a table for each index: […] int32 → […, Dim].
type Embedding struct {
	Rows int
	Dim  int
	Init Init `json:",omitzero"` // the zero value is normal with deviation 0.05
}

// Kind is "embedding".
func (Embedding) Kind() string { return "embedding" }

// On applies the layer without a name.
func (e Embedding) On(x *Node) *Node { return Apply(e, x) }

// Build appends the layer.
func (e Embedding) Build(b *Builder, in []*graph.Value) []*graph.Value {
	x, ok := b.one(in, 1)
	if !ok {
		return nil
	}
	if e.Rows < 1 || e.Dim < 1 {
		return b.Failf(in, "embedding needs rows and dim ≥ 1, got %d and %d", e.Rows, e.Dim)
	}
	return one(b.Graph.Gather(b.Param("table", e.Init.or(Normal(0.05)), e.Rows, e.Dim), x))
}

// Add sums any number of inputs of one shape and applies Act.
type Add struct {
	Act Act `json:",omitempty"`
}

// Kind is "add".
func (Add) Kind() string { return "add" }

// On applies the layer without a name.
func (a Add) On(xs ...*Node) *Node { return Apply(a, xs...) }

// Build appends the layer.
func (a Add) Build(b *Builder, in []*graph.Value) []*graph.Value {
	if len(in) < 2 {
		return b.Failf(in, "add takes two or more inputs")
	}
	sum := in[0]
	for _, x := range in[1:] {
		if !x.Spec.Equal(sum.Spec) {
			return b.Failf(in, "add needs inputs of one shape, got %v and %v", sum.Spec, x.Spec)
		}
		sum = b.Graph.Add(sum, x)
	}
	return one(a.Act.on(b.Graph, sum))
}

// Concat joins inputs along an axis; axis 0 is the first after the batch, -1 the last.
type Concat struct{ Axis int }

// Kind is "concat".
func (Concat) Kind() string { return "concat" }

// On applies the layer without a name.
func (c Concat) On(xs ...*Node) *Node { return Apply(c, xs...) }

// Build appends the layer.
func (c Concat) Build(b *Builder, in []*graph.Value) []*graph.Value {
	if len(in) == 0 {
		return b.Failf(in, "concat takes inputs")
	}
	axis := c.Axis + 1
	if c.Axis < 0 {
		axis = len(in[0].Shape()) + c.Axis
	}
	if axis < 1 {
		return b.Failf(in, "concat cannot join along the batch (axis %d)", c.Axis)
	}
	return one(b.Graph.Concat(axis, in...))
}
