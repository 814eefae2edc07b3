package graph

import (
	"fmt"
	"sort"
	"sync"

	"millrace.dev/learn/tensor"
)

// OpDef describes an operation to the graph.
type OpDef struct {
	Name string

	// Infer gives the outputs' specs from the inputs', or says in words what does not fit.
	Infer func(in []Spec, attr any) ([]Spec, error)

	// VJP appends the vector-Jacobian product of node n: given the gradient of the loss with
	// respect to each output (nil where there is none) it returns the gradient with respect to
	// each input (nil where there is none). A nil VJP says the operation has no gradient; it is
	// an error to differentiate through it.
	VJP func(g *Graph, n *Node, dy []*Value) []*Value

	// Mutates lists the inputs, all of them params or states, that the operation overwrites.
	Mutates []int

	// Forward computes the outputs in Go. Engines have their own code for the operations of
	// this package and call Forward for those that a user registers.
	Forward func(attr any, in, out []*tensor.Tensor) error
}

var registry = struct {
	sync.RWMutex
	ops map[string]OpDef
}{ops: map[string]OpDef{}}

// Register adds an operation. It fails on a name that is taken and on a definition without
// Infer; an operation from outside this package also needs Forward.
func Register(def OpDef) error {
	if def.Forward == nil {
		return fmt.Errorf("graph: operation %q has no Forward", def.Name)
	}
	return register(def)
}

func register(def OpDef) error {
	registry.Lock()
	defer registry.Unlock()
	if def.Name == "" || def.Infer == nil {
		return fmt.Errorf("graph: operation %q needs a name and Infer", def.Name)
	}
	if _, dup := registry.ops[def.Name]; dup {
		return fmt.Errorf("graph: operation %q is registered already", def.Name)
	}
	registry.ops[def.Name] = def
	return nil
}

// builtin registers operations of this package; a mistake there is one of ours.
func builtin(defs ...OpDef) struct{} {
	for _, d := range defs {
		if err := register(d); err != nil {
			panic(err)
		}
	}
	return struct{}{}
}

// Lookup finds an operation's definition.
func Lookup(name string) (OpDef, bool) {
	registry.RLock()
	defer registry.RUnlock()
	d, ok := registry.ops[name]
	return d, ok
}

// Ops lists the names of all registered operations, sorted.
func Ops() []string {
	registry.RLock()
	defer registry.RUnlock()
	names := make([]string, 0, len(registry.ops))
	for n := range registry.ops {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// ConstAttr holds the numbers of a "const".
type ConstAttr struct{ Data []float32 }

var _ = builtin(
	OpDef{Name: "input", Infer: noApply},
	OpDef{Name: "param", Infer: noApply},
	OpDef{Name: "state", Infer: noApply},
	OpDef{Name: "const", Infer: noApply},
)

func noApply([]Spec, any) ([]Spec, error) {
	return nil, fmt.Errorf("sources are declared, not applied")
}

// wantArgs checks the number of inputs and that all are float32.
func wantArgs(in []Spec, n int) error {
	if len(in) != n {
		return fmt.Errorf("wants %d operands, got %d", n, len(in))
	}
	for i, s := range in {
		if s.DType != tensor.Float32 {
			return fmt.Errorf("operand %d is %v, wants f32", i, s.DType)
		}
	}
	return nil
}
