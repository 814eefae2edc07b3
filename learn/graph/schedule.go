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
// that compute its operands, and the other readers of the param and slots that it overwrites.
// Then a gradient is used while it is in the cache, and its memory is free soon after. Inputs,
// params, states and constants move to the front. The graph g itself is left alone.
func ScheduleUpdates(g *Graph) (*Graph, error) {
	g, err := rewrite(g, func(*rewriter, *Node, []*Value) []*Value { return nil })
	if err != nil {
		return nil, err
	}
	after := map[*Node][]*Node{}
	readers := lastReaders(g)
	nodes := make([]*Node, 0, len(g.Nodes))
	for _, n := range g.Nodes {
		if isSource(n.Op) {
			nodes = append(nodes, n)
		}
		if n.Op == "update" {
			last := lastBefore(g, n, readers)
			after[last] = append(after[last], n)
		}
	}
	for _, n := range g.Nodes {
		if !isSource(n.Op) && n.Op != "update" {
			nodes = append(nodes, n)
		}
		nodes = append(nodes, after[n]...)
	}
	g.Nodes = nodes
	g.renumber()
	return g, g.Check()
}

// lastBefore is the last node that must run before the update. When there are only sources it
// is the last of all nodes, which is no earlier than any source.
func lastBefore(g *Graph, update *Node, readers map[*Value]int) *Node {
	at := -1
	for _, v := range update.In {
		if !isSource(v.Op()) {
			at = max(at, v.Node.ID)
		}
	}
	for _, v := range update.overwrites() {
		if last, read := readers[v]; read {
			at = max(at, last)
		}
	}
	if at < 0 {
		at = len(g.Nodes) - 1
	}
	return g.Nodes[at]
}

// lastReaders gives, for each value that is no view, the last node that reads it or a view of it
// without being an update.
func lastReaders(g *Graph) map[*Value]int {
	last := map[*Value]int{}
	for i, n := range g.Nodes {
		if n.Op == "update" {
			continue
		}
		for _, v := range n.In {
			last[v.Base()] = i
		}
	}
	return last
}
