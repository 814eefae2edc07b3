package graph

// dropDead removes, in place, the nodes that neither an output, a gradient nor a param or
// state that is overwritten needs. Sources with a name stay.
func dropDead(g *Graph) *Graph {
	live := map[*Node]bool{}
	for _, o := range g.Outputs {
		live[o.Value.Node] = true
	}
	for _, d := range g.Grads {
		live[d.Value.Node] = true
	}
	kept := 0
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		if def, _ := Lookup(n.Op); !live[n] && len(def.Mutates) == 0 && !(isSource(n.Op) && n.Op != "const") {
			continue
		}
		live[n] = true
		kept++
		for _, v := range n.In {
			live[v.Node] = true
		}
	}
	nodes := make([]*Node, 0, kept)
	for _, n := range g.Nodes {
		if live[n] {
			nodes = append(nodes, n)
		}
	}
	g.Nodes = nodes
	g.renumber()
	return g
}

// renumber gives nodes and values consecutive numbers again.
func (g *Graph) renumber() {
	g.nextID = 0
	for i, n := range g.Nodes {
		n.ID = i
		for _, o := range n.Out {
			o.ID = g.nextID
			g.nextID++
		}
	}
}
