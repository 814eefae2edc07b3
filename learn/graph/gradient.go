package graph

import (
	"fmt"

	"millrace.dev/learn/tensor"
)

// Gradients appends the computation of the derivative of loss, a scalar, with respect to each
// of the given values, walking the nodes backwards and adding up the vector-Jacobian products
// of every use. The result has one value for each of wrt; a value that the loss does not
// depend on gets zeros.
func (g *Graph) Gradients(loss *Value, wrt []*Value) ([]*Value, error) {
	if g.err != nil {
		return nil, g.err
	}
	if len(loss.Shape()) != 0 {
		return nil, fmt.Errorf("graph: gradients start from a scalar, the loss has shape %v", loss.Shape())
	}
	needs := g.dependsOn(wrt)
	acc := map[*Value]*Value{loss: g.Scalar(1)}
	for i := loss.Node.ID; i >= 0; i-- {
		n := g.Nodes[i]
		dy, any := gradsOf(n, acc)
		if !any || len(n.In) == 0 || !needsAny(n.In, needs) {
			continue
		}
		if err := g.backward(n, dy, needs, acc); err != nil {
			return nil, err
		}
	}
	out := make([]*Value, len(wrt))
	for i, v := range wrt {
		if out[i] = acc[v]; out[i] == nil {
			out[i] = g.Const(make([]float32, v.Shape().Elems()), v.Shape()...)
		}
	}
	return out, g.err
}

// Train appends the gradients of loss for every param and records them in g.Grads.
func (g *Graph) Train(loss *Value) error {
	grads, err := g.Gradients(loss, g.Params)
	if err != nil {
		return err
	}
	for i, p := range g.Params {
		g.Grads = append(g.Grads, Grad{p, grads[i]})
	}
	return nil
}

func (g *Graph) backward(n *Node, dy []*Value, needs map[*Value]bool, acc map[*Value]*Value) error {
	def, _ := Lookup(n.Op)
	if def.VJP == nil {
		return fmt.Errorf("graph: %s: operation %q has no gradient", n.Path, n.Op)
	}
	saved := g.path
	g.path = []string{n.Path}
	defer func() { g.path = saved }()
	if def.Forward == nil && !onlyFirst(dy) {
		return fmt.Errorf("graph: %s: only the first result of %q has a gradient", n.Path, n.Op)
	}
	dx := def.VJP(g, n, dy)
	if g.err != nil {
		return g.err
	}
	if len(dx) != len(n.In) {
		return fmt.Errorf("graph: %s: %q returned %d gradients for %d operands", n.Path, n.Op, len(dx), len(n.In))
	}
	for i, v := range n.In {
		if dx[i] == nil || !needs[v] {
			continue
		}
		if !dx[i].Spec.Equal(v.Spec) {
			return fmt.Errorf("graph: %s: gradient of %q for operand %d is %v, wants %v", n.Path, n.Op, i, dx[i].Spec, v.Spec)
		}
		sum := dx[i] // dx may be the outputs of a node: it must not change
		if have := acc[v]; have != nil {
			sum = g.sumOf(have, sum)
		}
		acc[v] = sum
	}
	return nil
}

// sumOf adds two gradients, in float32 also where they are stored in a shorter type.
func (g *Graph) sumOf(a, b *Value) *Value {
	stored := a.Spec.DType
	return g.Cast(g.Add(g.Cast(a, tensor.Float32), g.Cast(b, tensor.Float32)), stored)
}

// onlyFirst reports whether the first output alone has a gradient: what the operations of this
// package can differentiate.
func onlyFirst(dy []*Value) bool {
	for i, d := range dy {
		if (d != nil) != (i == 0) {
			return false
		}
	}
	return true
}

// dependsOn marks every value that is one of wrt or is computed from one.
func (g *Graph) dependsOn(wrt []*Value) map[*Value]bool {
	needs := map[*Value]bool{}
	for _, v := range wrt {
		needs[v] = true
	}
	for _, n := range g.Nodes {
		if needsAny(n.In, needs) {
			for _, o := range n.Out {
				needs[o] = true
			}
		}
	}
	return needs
}

func needsAny(vs []*Value, needs map[*Value]bool) bool {
	for _, v := range vs {
		if needs[v] {
			return true
		}
	}
	return false
}

func gradsOf(n *Node, acc map[*Value]*Value) (dy []*Value, any bool) {
	dy = make([]*Value, len(n.Out))
	for i, o := range n.Out {
		dy[i] = acc[o]
		any = any || dy[i] != nil
	}
	return dy, any
}
