package field

import "math"

// regrow routes every node that can reach a source, and keeps the hops of an earlier plan where they still lead to one:
// parent is that plan's, by sensor. Each hop is looked up in the graph of now, so that sensors may have moved, come, gone or even been
// renumbered. Nodes without a way join the lightest tree beside them.
func (f *forest) regrow(sources []int32, parent []int32) {
	for i := range f.parent {
		f.clear(int32(i))
	}
	f.keepHops(sources, parent)
	f.order = append(f.order[:0], sources...)
	for k := 0; k < len(f.order); k++ {
		u := f.order[k]
		for c := f.child[u]; c >= 0; c = f.next[c] {
			f.dist[c] = f.dist[u] + 1
			f.order = append(f.order, c)
		}
	}
	f.addLoads()
	f.cutLost()
	for k := 0; k < len(f.order); k++ { // grows while it is gone through
		for _, v := range f.net.graph.Neighbors(int(f.order[k])) {
			if f.parent[v] == NoRoute {
				f.join(v)
			}
		}
	}
}

// keepHops attaches nodes to the parents that they had and still have a link to. What is attached may hang from nothing.
func (f *forest) keepHops(sources, parent []int32) {
	node := make([]int32, len(f.net.in.Sensors))
	for i := range node {
		node[i] = -1
	}
	for u, i := range f.net.orig {
		node[i] = int32(u)
	}
	for _, s := range sources {
		f.dist[s], f.parent[s] = 0, ToSink
		if f.up != nil {
			f.up[s] = 1
		}
	}
	for u, i := range f.net.orig {
		if f.parent[u] == ToSink || int(i) >= len(parent) || parent[i] < 0 || int(parent[i]) >= len(node) {
			continue
		}
		if p := node[parent[i]]; p >= 0 {
			if etx := f.net.graph.ETX(u, int(p)); etx > 0 {
				f.attach(int32(u), p, etx)
			}
		}
	}
}

// cutLost takes the routes from nodes that no source was found to lead to.
func (f *forest) cutLost() {
	for u := range f.parent {
		if math.IsInf(float64(f.dist[u]), 1) {
			f.clear(int32(u))
		}
	}
}

// join attaches a node without a way to the neighbour whose source, or that itself where nodes do not cost alike, has least to send.
func (f *forest) join(v int32) {
	g := f.net.graph
	best, least, bestK := int32(-1), math.Inf(1), int32(0)
	for k := g.start[v]; k < g.start[v+1]; k++ {
		p := g.adj[k]
		if f.parent[p] == NoRoute {
			continue
		}
		at := p
		for f.even && f.parent[at] >= 0 {
			at = f.parent[at]
		}
		if cost := f.net.scale[at] * f.packets[at]; cost < least {
			best, least, bestK = p, cost, k
		}
	}
	f.attach(v, best, g.at(bestK))
	f.dist[v] = f.dist[best] + 1
	f.carry(best, f.packets[v])
	f.order = append(f.order, v)
}
