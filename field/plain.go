package field

import "math"

// growPlain routes each node to the sources the way most protocols do: by fewest expected transmissions, to the
// nearest such neighbour, without regard to load.
func (f *forest) growPlain(sources []int32) {
	for i := range f.parent {
		f.clear(int32(i))
	}
	f.explore(sources)
	g := f.net.graph
	for i := len(f.order) - 1; i >= 0 && f.dist[f.order[i]] > 0; i-- {
		v := f.order[i]
		best, near, bestK := int32(-1), math.Inf(1), int32(0)
		for k := g.start[v]; k < g.start[v+1]; k++ {
			p := g.adj[k]
			if f.dist[p] >= f.dist[v] || float64(f.dist[p])+g.at(k) > float64(f.dist[v])*(1+1e-6) {
				continue
			}
			if d := f.net.pos[p].Dist(f.net.pos[v]); d < near {
				best, near, bestK = p, d, k
			}
		}
		f.attach(v, best, g.at(bestK))
	}
	f.addLoads()
}

// growAlong routes each node along a given tree until it meets a source.
func (f *forest) growAlong(tree *forest, sources []int32) {
	for i := range f.parent {
		f.clear(int32(i))
	}
	f.order = append(f.order[:0], tree.order...)
	for _, v := range tree.order {
		f.dist[v] = tree.dist[v]
		if p := tree.parent[v]; p >= 0 {
			etx := 1.0
			if tree.up != nil {
				etx = float64(tree.up[v])
			}
			f.attach(v, p, etx)
		} else {
			f.parent[v] = p
		}
	}
	for _, s := range sources {
		if f.parent[s] >= 0 {
			f.detach(s)
		}
		f.parent[s] = ToSink
		if f.up != nil {
			f.up[s] = 1
		}
	}
	f.addLoads()
}

// addLoads sums packets up the trees; order must list parents before children.
func (f *forest) addLoads() {
	for i := len(f.order) - 1; i >= 0; i-- {
		if v := f.order[i]; f.parent[v] >= 0 {
			f.packets[f.parent[v]] += f.packets[v]
		}
	}
}

// growMST makes the minimum spanning trees of the radio graph by length, hung from the roots (Prim).
func (f *forest) growMST(roots []int32) {
	for i := range f.parent {
		f.clear(int32(i))
	}
	g, done, via := f.net.graph, make([]bool, f.net.len()), make([]int32, f.net.len())
	f.order, f.queue = f.order[:0], f.queue[:0]
	reach := make([]float64, f.net.len())
	for i := range reach {
		reach[i] = math.Inf(1)
	}
	for _, r := range roots {
		reach[r], via[r], f.parent[r] = 0, -1, ToSink
		f.queue.push(nodeAt{0, r})
	}
	for len(f.queue) > 0 {
		u := f.queue.pop().node
		if done[u] {
			continue
		}
		done[u] = true
		f.dist[u] = 0
		if k := via[u]; k >= 0 {
			p := f.parent[u]
			f.dist[u] = f.dist[p] + 1
			f.attach(u, p, g.at(k))
		}
		f.order = append(f.order, u)
		for k := g.start[u]; k < g.start[u+1]; k++ {
			v := g.adj[k]
			if d := f.net.pos[u].Dist(f.net.pos[v]); !done[v] && d < reach[v] {
				reach[v], via[v], f.parent[v] = d, k, u
				f.queue.push(nodeAt{d, v})
			}
		}
	}
	f.addLoads()
}
