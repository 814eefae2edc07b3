package nn

import "millrace.dev/learn/tensor"

// Node is a symbolic value between layers: one output of one application of a layer.
type Node struct {
	call *call
	out  int
}

// call is one application of a layer, or an input of a model.
type call struct {
	layer *Layer
	in    []*Node
	input *inputSpec
}

type inputSpec struct {
	name  string
	dtype tensor.DType
	shape tensor.Shape // without the batch
}

// Layer is a Spec with an identity: applied twice, it shares its weights.
type Layer struct {
	Name string // unique in its model; NewModel fills in empty ones
	Spec Spec
}

// NewLayer names a layer.
func NewLayer(name string, s Spec) *Layer { return &Layer{name, s} }

// On applies the layer and returns its first output.
func (l *Layer) On(in ...*Node) *Node { return &Node{&call{layer: l, in: in}, 0} }

// All applies the layer and returns all its outputs.
func (l *Layer) All(in ...*Node) []*Node {
	c := &call{layer: l, in: in}
	out := make([]*Node, numOutputs(l.Spec))
	for i := range out {
		out[i] = &Node{c, i}
	}
	return out
}

// Apply applies a spec as a nameless layer.
func Apply(s Spec, in ...*Node) *Node { return NewLayer("", s).On(in...) }

// Input declares a float32 input of a model; shape is without the batch.
func Input(name string, shape ...int) *Node {
	return &Node{&call{input: &inputSpec{name, tensor.Float32, shape}}, 0}
}

// Indices declares an int32 input of a model, for Embedding; shape is without the batch.
func Indices(name string, shape ...int) *Node {
	return &Node{&call{input: &inputSpec{name, tensor.Int32, shape}}, 0}
}
