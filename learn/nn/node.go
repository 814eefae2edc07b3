package nn

import (
	"slices"

	"millrace.dev/learn/tensor"
)

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
	Name string // unique in its model; where it is empty the model chooses kind_1, kind_2, …
	Spec Spec
}

// NewLayer names a layer.
func NewLayer(name string, s Spec) *Layer { return &Layer{name, s} }

// On applies the layer and returns its first output.
func (l *Layer) On(in ...*Node) *Node { return &Node{l.call(in), 0} }

// All applies the layer and returns all its outputs.
func (l *Layer) All(in ...*Node) []*Node {
	c := l.call(in)
	out := make([]*Node, numOutputs(l.Spec))
	for i := range out {
		out[i] = &Node{c, i}
	}
	return out
}

// call owns its operands, so that a node only ever leads to older ones: there are no cycles.
func (l *Layer) call(in []*Node) *call { return &call{layer: l, in: slices.Clone(in)} }

// Apply applies a spec as a nameless layer.
func Apply(s Spec, in ...*Node) *Node { return NewLayer("", s).On(in...) }

// Input declares a float32 input of a model; shape is without the batch.
func Input(name string, shape ...int) *Node { return input(name, tensor.Float32, shape) }

// Indices declares an int32 input of a model, for Embedding; shape is without the batch.
func Indices(name string, shape ...int) *Node { return input(name, tensor.Int32, shape) }

func input(name string, dtype tensor.DType, shape []int) *Node {
	return &Node{&call{input: &inputSpec{name, dtype, slices.Clone(shape)}}, 0}
}
