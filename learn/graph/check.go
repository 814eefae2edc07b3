package graph

import "fmt"

// Check verifies the rules of the package page: every value is made before it is used and by
// the node that says so, every node's outputs are what Infer gives for its inputs, only params
// and states are overwritten, and nothing reads one after a node that overwrites it, except
// nodes that overwrite it in turn.
func (g *Graph) Check() error {
	if g.err != nil {
		return g.err
	}
	made := map[*Value]bool{}
	changed := map[*Value]*Node{}
	for i, n := range g.Nodes {
		if n.ID != i {
			return fmt.Errorf("graph: node %d carries the number %d", i, n.ID)
		}
		if err := checkNode(n, made, changed); err != nil {
			return fmt.Errorf("graph: %v: %w", n, err)
		}
		for j, o := range n.Out {
			if o.Node != n || o.Index != j || made[o] {
				return fmt.Errorf("graph: %v: output %d does not belong to it", n, j)
			}
			made[o] = true
		}
	}
	return g.checkEnds(made)
}

func checkNode(n *Node, made map[*Value]bool, changed map[*Value]*Node) error {
	def, ok := Lookup(n.Op)
	if !ok {
		return fmt.Errorf("unknown operation")
	}
	writes := map[int]bool{}
	for _, k := range def.Mutates {
		writes[k] = true
	}
	specs := make([]Spec, len(n.In))
	for k, v := range n.In {
		specs[k] = v.Spec
		if !made[v] {
			return fmt.Errorf("operand %d is used before it is made", k)
		}
		if by := changed[v.Base()]; by != nil && !writes[k] {
			return fmt.Errorf("operand %d, %q, was overwritten before by node %d", k, v.Base().Name, by.ID)
		}
	}
	for k := range writes {
		if k >= len(n.In) {
			continue
		}
		if v := n.In[k]; v.Op() != "param" && v.Op() != "state" {
			return fmt.Errorf("overwrites operand %d, which is neither param nor state", k)
		}
		changed[n.In[k]] = n
	}
	if isSource(n.Op) {
		return nil
	}
	want, err := def.Infer(specs, n.Attr)
	if err != nil {
		return err
	}
	if len(want) != len(n.Out) {
		return fmt.Errorf("has %d outputs, wants %d", len(n.Out), len(want))
	}
	for k, s := range want {
		if !s.Equal(n.Out[k].Spec) {
			return fmt.Errorf("output %d is %v, wants %v", k, n.Out[k].Spec, s)
		}
	}
	return nil
}

func (g *Graph) checkEnds(made map[*Value]bool) error {
	for _, o := range g.Outputs {
		if !made[o.Value] {
			return fmt.Errorf("graph: output %q is not computed", o.Name)
		}
	}
	for _, d := range g.Grads {
		if !made[d.Value] || !d.Value.Spec.Equal(d.Param.Spec) {
			return fmt.Errorf("graph: gradient of %q is not computed or has another shape", d.Param.Name)
		}
	}
	return nil
}
