package graph

import "fmt"

// expression is a text that two nodes share only if they compute the same values. There is
// none for nodes that overwrite something, for dropout, and for operations of a user, of which
// nothing is known.
func expression(n *Node, in []*Value) (string, bool) {
	def, _ := Lookup(n.Op)
	if len(def.Mutates) > 0 || def.Forward != nil || n.Op == "dropout" {
		return "", false
	}
	ids := make([]int, len(in))
	for i, v := range in {
		ids[i] = v.ID
	}
	return fmt.Sprintf("%s %#v %v", n.Op, n.Attr, ids), true
}
