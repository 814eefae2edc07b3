package field

// offer is a link over which a tree could take another node.
type offer struct {
	from int32 // node of the tree
	link int32 // into the graph's adjacency
	next int32 // offer of the same tree, -1 at the end
}

// spread routes every node that can reach a source by growing all trees at once, the least loaded first: each takes the
// nodes next to it in the order in which it met them. Loads come out even where fewest hops would
// lead many nodes through few gates.
func (f *forest) spread(sources []int32) {
	for i := range f.parent {
		f.clear(int32(i))
	}
	for _, s := range sources {
		f.dist[s], f.parent[s] = 0, ToSink
		if f.up != nil {
			f.up[s] = 1
		}
	}
	n := len(sources)
	f.head, f.tail, f.load = resize(f.head, n), resize(f.tail, n), resize(f.load, n)
	f.order, f.queue, f.offers = f.order[:0], f.queue[:0], f.offers[:0]
	for r, s := range sources {
		f.head[r], f.load[r] = -1, 0
		f.claim(int32(r), s)
		f.queue.push(nodeAt{f.net.scale[s] * f.load[r], int32(r)})
	}
	for len(f.queue) > 0 {
		r := f.queue.pop().node
		if f.take(r) {
			f.queue.push(nodeAt{f.net.scale[sources[r]] * f.load[r], r})
		}
	}
	f.addLoads()
}

// claim adds v to tree r and offers it the neighbours that no tree has.
func (f *forest) claim(r, v int32) {
	g := f.net.graph
	f.order = append(f.order, v)
	f.load[r] += f.net.weight[v]
	for k := g.start[v]; k < g.start[v+1]; k++ {
		if f.parent[g.adj[k]] != NoRoute {
			continue
		}
		o := int32(len(f.offers))
		f.offers = append(f.offers, offer{v, k, -1})
		if f.head[r] < 0 {
			f.head[r] = o
		} else {
			f.offers[f.tail[r]].next = o
		}
		f.tail[r] = o
	}
}

// take lets tree r claim its next free neighbour; false when there is none.
func (f *forest) take(r int32) bool {
	g := f.net.graph
	for f.head[r] >= 0 {
		o := f.offers[f.head[r]]
		f.head[r] = o.next
		v := g.adj[o.link]
		if f.parent[v] != NoRoute {
			continue
		}
		f.attach(v, o.from, g.at(o.link))
		f.dist[v] = f.dist[o.from] + 1
		f.claim(r, v)
		return true
	}
	return false
}

// resize returns a slice of length n, the old one when it is long enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
