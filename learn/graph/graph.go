package graph

import (
	"fmt"
	"strings"

	"millrace.dev/learn/tensor"
)

// Spec is what is known of a value before it is computed.
type Spec struct {
	DType tensor.DType
	Shape tensor.Shape
}

// F32 is the Spec of a float32 value.
func F32(dims ...int) Spec { return Spec{tensor.Float32, tensor.Shape(dims)} }

func (s Spec) String() string { return s.DType.String() + s.Shape.String() }

// Equal reports whether both the type and the shape agree.
func (s Spec) Equal(t Spec) bool { return s.DType == t.DType && s.Shape.Equal(t.Shape) }

// Value is one result of a node.
type Value struct {
	ID    int
	Name  string // of an input, param or state; empty for anything computed
	Spec  Spec
	Node  *Node
	Index int // which of Node's outputs

	SlotOf *Value // the param that this state is an optimiser slot of, nil for any other value
	Slot   int    // which of the param's slots
}

// Shape is short for v.Spec.Shape.
func (v *Value) Shape() tensor.Shape { return v.Spec.Shape }

// Op is short for v.Node.Op.
func (v *Value) Op() string { return v.Node.Op }

// Base is the value of which v is a view: v itself unless a reshape made it. A view shares its
// base's memory, and changes when its base, a param or state, is overwritten.
func (v *Value) Base() *Value {
	for v.Node.Op == "reshape" {
		v = v.Node.In[0]
	}
	return v
}

// Node applies an operation.
type Node struct {
	ID   int
	Op   string
	Attr any    // the operation's constants: nil or a value of the type that its builder uses
	Path string // of the layer that asked for it, for messages and profiles
	In   []*Value
	Out  []*Value
}

// Named is a value that a program hands out under a name.
type Named struct {
	Name  string
	Value *Value
}

// Grad ties a parameter to the value that holds its gradient.
type Grad struct {
	Param *Value
	Value *Value
}

// Graph is a computation. Its lists may be read by anyone and are changed through methods only.
type Graph struct {
	Nodes   []*Node
	Inputs  []*Value
	Params  []*Value
	States  []*Value // without optimiser slots
	Slots   []*Value // optimiser slots
	Outputs []Named
	Grads   []Grad

	path   []string
	err    error
	nextID int
	byName map[string]*Value
}

// New returns an empty graph.
func New() *Graph { return &Graph{byName: map[string]*Value{}} }

// Err is the first error of any builder call, or nil.
func (g *Graph) Err() error { return g.err }

// Fail records err as the graph's error unless an earlier one stands.
func (g *Graph) Fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// Scope adds name to the layer path of the nodes that build appends.
func (g *Graph) Scope(name string, build func()) {
	g.path = append(g.path, name)
	build()
	g.path = g.path[:len(g.path)-1]
}

// Path is the current layer path, "" at the top.
func (g *Graph) Path() string { return strings.Join(g.path, "/") }

// Input declares a value that is bound at each run.
func (g *Graph) Input(name string, spec Spec) *Value {
	v := g.source("input", name, spec)
	g.Inputs = append(g.Inputs, v)
	return v
}

// Param declares a trained float32 value; asking again for the same name returns the same value.
func (g *Graph) Param(name string, shape ...int) *Value {
	if v, ok := g.again("param", name, F32(shape...)); ok {
		return v
	}
	v := g.source("param", name, F32(shape...))
	g.Params = append(g.Params, v)
	return v
}

// State declares a float32 value that is kept between runs and not trained; asking again for
// the same name returns the same value.
func (g *Graph) State(name string, shape ...int) *Value {
	if v, ok := g.again("state", name, F32(shape...)); ok {
		return v
	}
	v := g.source("state", name, F32(shape...))
	g.States = append(g.States, v)
	return v
}

// SlotState declares the k-th optimiser slot of a param: a state of the same shape that
// stands in a flat vector of its own, at the param's place.
func (g *Graph) SlotState(p *Value, k int) *Value {
	v := g.source("state", fmt.Sprintf("%s#%d", p.Name, k), p.Spec)
	v.SlotOf, v.Slot = p, k
	g.Slots = append(g.Slots, v)
	return v
}

// Const makes a float32 constant; data is not copied.
func (g *Graph) Const(data []float32, shape ...int) *Value {
	s := F32(shape...)
	if err := s.Shape.Check(); err != nil || s.Shape.Elems() != len(data) {
		g.Fail(fmt.Errorf("graph: constant of shape %v given %d numbers", s.Shape, len(data)))
		return g.broken(1)[0]
	}
	return g.add("const", ConstAttr{data}, nil, []Spec{s})[0]
}

// Scalar makes a float32 constant of shape [].
func (g *Graph) Scalar(x float32) *Value { return g.Const([]float32{x}) }

// Output names a value that a program hands out.
func (g *Graph) Output(name string, v *Value) {
	for _, o := range g.Outputs {
		if o.Name == name {
			g.Fail(fmt.Errorf("graph: two outputs are named %q", name))
		}
	}
	g.Outputs = append(g.Outputs, Named{name, v})
}

// Lookup finds an input, param or state by its name.
func (g *Graph) Lookup(name string) (*Value, bool) {
	v, ok := g.byName[name]
	return v, ok
}

func (g *Graph) again(op, name string, spec Spec) (*Value, bool) {
	v, ok := g.byName[name]
	if ok && (v.Op() != op || !v.Spec.Equal(spec)) {
		g.Fail(fmt.Errorf("graph: %s: %q is already a %s %v, not a %s %v", g.Path(), name, v.Op(), v.Spec, op, spec))
	}
	return v, ok
}

func (g *Graph) source(op, name string, spec Spec) *Value {
	if err := spec.Shape.Check(); err != nil {
		g.Fail(&ShapeError{Path: name, Op: op, In: []Spec{spec}, Err: err})
		return g.broken(1)[0]
	}
	if _, dup := g.byName[name]; dup || name == "" {
		g.Fail(fmt.Errorf("graph: the name %q of an %s is empty or taken", name, op))
	}
	v := g.add(op, nil, nil, []Spec{spec})[0]
	v.Name = name
	g.byName[name] = v
	return v
}

// Apply appends a node and returns its outputs. On bad operands it records the error and
// returns values that later calls pass over in silence.
func (g *Graph) Apply(op string, attr any, in ...*Value) []*Value {
	def, ok := Lookup(op)
	if !ok {
		g.Fail(fmt.Errorf("graph: %s: unknown operation %q", g.Path(), op))
	}
	if g.err != nil {
		return g.broken(8)
	}
	specs := make([]Spec, len(in))
	for i, v := range in {
		specs[i] = v.Spec
	}
	out, err := def.Infer(specs, attr)
	if err == nil {
		err = checkSpecs(out)
	}
	if err != nil {
		g.Fail(&ShapeError{Path: g.Path(), Op: op, In: specs, Err: err})
		return g.broken(8)
	}
	return g.add(op, attr, in, out)
}

func checkSpecs(specs []Spec) error {
	for _, s := range specs {
		if err := s.Shape.Check(); err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) add(op string, attr any, in []*Value, out []Spec) []*Value {
	n := &Node{ID: len(g.Nodes), Op: op, Attr: attr, Path: g.Path(), In: in}
	for i, s := range out {
		n.Out = append(n.Out, &Value{ID: g.nextID, Spec: s, Node: n, Index: i})
		g.nextID++
	}
	g.Nodes = append(g.Nodes, n)
	return n.Out
}

// broken stands in for the outputs of a node that could not be made.
func (g *Graph) broken(n int) []*Value {
	out := make([]*Value, n)
	for i := range out {
		out[i] = &Value{ID: -1, Spec: F32(), Node: &Node{Op: "broken"}}
	}
	return out
}

// ShapeError says which layer applied which operation to operands that do not fit.
type ShapeError struct {
	Path string
	Op   string
	In   []Spec
	Err  error
}

func (e *ShapeError) Error() string {
	in := make([]string, len(e.In))
	for i, s := range e.In {
		in[i] = s.String()
	}
	return fmt.Sprintf("%s: %s(%s): %v", e.Path, e.Op, strings.Join(in, ", "), e.Err)
}

func (e *ShapeError) Unwrap() error { return e.Err }

// BadInput marks the error as the fault of what was given, not of the program.
func (e *ShapeError) BadInput() bool { return true }
