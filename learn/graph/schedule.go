package graph

// UpdateStage marks, by node number, what belongs to the update stage of a split step: the
// "update" and "clip_scale" nodes and everything that needs a result of one. Such a node finds
// the gradients in the gradient vector, where others may have changed them since the backward
// pass.
func (g *Graph) UpdateStage() []bool {
	late := make([]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		late[i] = n.Op == "update" || n.Op == "clip_scale"
		for _, v := range n.In {
			late[i] = late[i] || late[v.Node.ID]
		}
	}
	return late
}

// ScheduleUpdates returns the graph with each "update" directly after the last of: the nodes
// that make its operands, and the other readers of the param and slots that it overwrites. Then
// a gradient is used while it is in the cache, and its memory is free soon after. The graph g
// itself is left alone.
func ScheduleUpdates(g *Graph) (*Graph, error) {
	g, err := rewrite(g, func(*rewriter, *Node, []*Value) []*Value { return nil })
	if err != nil {
		return nil, err
	}
	after := make([][]*Node, len(g.Nodes))
	readers := lastReaders(g)
	for _, n := range g.Nodes {
		if n.Op != "update" {
			continue
		}
		at := 0
		for _, v := range n.In {
			at = max(at, v.Node.ID)
		}
		for _, k := range updateWrites(n) {
			at = max(at, readers[n.In[k]])
		}
		after[at] = append(after[at], n)
	}
	nodes := make([]*Node, 0, len(g.Nodes))
	for i, n := range g.Nodes {
		if n.Op != "update" {
			nodes = append(nodes, n)
		}
		nodes = append(nodes, after[i]...)
	}
	g.Nodes = nodes
	g.renumber()
	return g, g.Check()
}

// lastReaders gives, for each value, the last node that reads it without being an update.
func lastReaders(g *Graph) map[*Value]int {
	last := map[*Value]int{}
	for i, n := range g.Nodes {
		if n.Op == "update" {
			continue
		}
		for _, v := range n.In {
			last[v] = i
		}
	}
	return last
}

// updateWrites lists the operands that an update overwrites.
func updateWrites(n *Node) []int {
	w := []int{}
	def, _ := Lookup(n.Op)
	for _, k := range def.Mutates {
		if k < len(n.In) {
			w = append(w, k)
		}
	}
	return w
}
