package nn

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// Mode says what a graph is for: batch norm and dropout behave differently.
type Mode uint8

// Train uses the batch's statistics and drops units; Eval uses the running ones and does not.
const (
	Train Mode = iota
	Eval
)

// Spec is a layer's constants. Implementations are plain structs whose exported fields survive
// a round trip through JSON; Register makes a kind loadable from a saved model.
type Spec interface {
	// Kind names the layer's type in saved models and in names, as in "conv2d".
	Kind() string
	// Build appends the layer to the builder's graph. Input shapes have the batch first. An
	// operand that does not fit is reported with Builder.Failf, after which anything may be
	// returned.
	Build(b *Builder, in []*graph.Value) []*graph.Value
}

// outputs is implemented by specs with other than one result.
type outputs interface{ NumOutputs() int }

func numOutputs(s Spec) int {
	if o, ok := s.(outputs); ok {
		return o.NumOutputs()
	}
	return 1
}

// Builder is what a Spec builds with: the graph, the mode, and the layer's own weights.
type Builder struct {
	Graph *graph.Graph
	Mode  Mode

	weights weightList
	calls   int            // applications so far
	streams map[string]int // of random numbers so far, by path
}

func newBuilder(g *graph.Graph, mode Mode) *Builder {
	return &Builder{Graph: g, Mode: mode, weights: weightList{index: map[string]int{}}, streams: map[string]int{}}
}

// stream numbers the layer's random choices: another number for each application.
func (b *Builder) stream() uint32 {
	path := b.Graph.Path()
	b.streams[path]++
	return uint32(nameHash(fmt.Sprintf("%s#%d", path, b.streams[path])))
}

// Weight describes a param or a state of a model.
type Weight struct {
	Name  string // full path
	Shape tensor.Shape
	Init  Init
	Decay bool // whether weight decay applies: not to biases and normalisation
	State bool // kept but not trained
}

// weightList collects a model's weights in the order of their declaration.
type weightList struct {
	list  []Weight
	index map[string]int
}

func (w *weightList) add(x Weight) {
	if _, ok := w.index[x.Name]; ok {
		return
	}
	w.index[x.Name] = len(w.list)
	w.list = append(w.list, x)
}

// Param declares a trained weight of the layer, one that weight decay applies to.
func (b *Builder) Param(name string, init Init, shape ...int) *graph.Value {
	return b.declare(Weight{Name: name, Shape: shape, Init: init, Decay: true})
}

// Bias declares a trained weight that weight decay leaves alone.
func (b *Builder) Bias(name string, init Init, shape ...int) *graph.Value {
	return b.declare(Weight{Name: name, Shape: shape, Init: init})
}

// State declares numbers that are kept with the weights but not trained.
func (b *Builder) State(name string, init Init, shape ...int) *graph.Value {
	return b.declare(Weight{Name: name, Shape: shape, Init: init, State: true})
}

func (b *Builder) declare(w Weight) *graph.Value {
	w.Name = b.Graph.Path() + "/" + w.Name
	b.weights.add(w)
	if w.State {
		return b.Graph.State(w.Name, w.Shape...)
	}
	return b.Graph.Param(w.Name, w.Shape...)
}
