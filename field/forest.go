package field

import (
	"cmp"
	"math"
	"slices"
)

// forest is a routing of every reached node towards a set of sources (the nodes that upload), with
// loads. Its buffers are used again by each grow.
type forest struct {
	net     *network
	order   []int32   // reached nodes, nearest to a source first
	dist    []float32 // expected transmissions to the nearest source when grown; +Inf when not reached
	parent  []int32   // next hop, ToSink or NoRoute
	packets []float64 // passed on in a round, own included
	up      []float32 // ETX towards the parent; nil when all are 1
	child   []int32   // first child
	next    []int32   // next child of the same parent
	prev    []int32
	root    []int32 // the source that a node's packets reach; kept only when even
	even    bool    // all nodes cost alike and no link repeats: a tree's costliest node is its source
	steps   int     // work left for relieve, in visited nodes
	queue   frontier
	offers  []offer // of spread, as are the next three, per source
	head    []int32
	tail    []int32
	load    []float64
	stack   []int32
	busy    []int32
	above   []bool // marks the nodes above the one that sheds
}

func newForest(net *network) *forest {
	n := net.len()
	f := &forest{net: net, order: make([]int32, 0, n), dist: make([]float32, n), parent: make([]int32, n), packets: make([]float64, n),
		child: make([]int32, n), next: make([]int32, n), prev: make([]int32, n), above: make([]bool, n)}
	if net.graph.etx != nil {
		f.up = make([]float32, n)
	}
	f.even = f.up == nil && !slices.ContainsFunc(net.scale, func(s float64) bool { return s != 1 })
	if f.even {
		f.root = make([]int32, n)
	}
	return f
}

// cost is the scaled number of transmissions of node u in a round.
func (f *forest) cost(u int32) float64 { return f.costWith(u, f.packets[u]) }

func (f *forest) costWith(u int32, packets float64) float64 {
	if f.up == nil {
		return f.net.scale[u] * packets
	}
	return f.net.scale[u] * float64(f.up[u]) * packets
}

// grow routes every node that can reach a source: layers by distance, then from the deepest layer up, heaviest
// node first, each to the nearer neighbour that ends up least loaded.
func (f *forest) grow(sources []int32) {
	for i := range f.parent {
		f.clear(int32(i))
	}
	f.hang(sources)
}

// drain forgets the routes of some nodes: all of a connected part.
func (f *forest) drain(nodes []int32) {
	for _, u := range nodes {
		f.clear(u)
	}
}

func (f *forest) clear(u int32) {
	f.dist[u], f.parent[u], f.packets[u] = float32(math.Inf(1)), NoRoute, f.net.weight[u]
	f.child[u], f.next[u], f.prev[u] = -1, -1, -1
}

// explore fills order and dist from the sources.
func (f *forest) explore(sources []int32) {
	for _, s := range sources {
		f.dist[s], f.parent[s] = 0, ToSink
		if f.up != nil {
			f.up[s] = 1
		}
	}
	if f.up == nil {
		f.layers(sources)
	} else {
		f.distances(sources)
	}
}

// hang routes the nodes that the sources reach.
func (f *forest) hang(sources []int32) {
	f.explore(sources)
	for to := len(f.order); to > 0; {
		from := to - 1
		for from > 0 && f.dist[f.order[from-1]] == f.dist[f.order[to-1]] {
			from--
		}
		layer := f.order[from:to]
		if f.dist[layer[0]] == 0 {
			break
		}
		slices.SortFunc(layer, func(a, b int32) int { return cmp.Or(cmp.Compare(f.packets[b], f.packets[a]), cmp.Compare(a, b)) })
		for _, v := range layer {
			f.settle(v)
		}
		to = from
	}
}

// layers fills order and dist by breadth-first search.
func (f *forest) layers(sources []int32) {
	f.order = append(f.order[:0], sources...)
	for k := 0; k < len(f.order); k++ {
		u := f.order[k]
		d := f.dist[u] + 1
		for _, v := range f.net.graph.Neighbors(int(u)) {
			if math.IsInf(float64(f.dist[v]), 1) {
				f.dist[v] = d
				f.order = append(f.order, v)
			}
		}
	}
}

// distances fills order and dist by Dijkstra's search over ETX.
func (f *forest) distances(sources []int32) {
	g := f.net.graph
	f.order, f.queue = f.order[:0], f.queue[:0]
	for _, s := range sources {
		f.queue.push(nodeAt{0, s})
	}
	for len(f.queue) > 0 {
		top := f.queue.pop()
		u := top.node
		if top.at > float64(f.dist[u]) {
			continue
		}
		f.order = append(f.order, u)
		for k := g.start[u]; k < g.start[u+1]; k++ {
			if d := f.dist[u] + g.etx[k]; d < f.dist[g.adj[k]] {
				f.dist[g.adj[k]] = d
				f.queue.push(nodeAt{float64(d), g.adj[k]})
			}
		}
	}
}

// settle hangs v below the nearer neighbour that makes the larger of the two costs least.
func (f *forest) settle(v int32) {
	g := f.net.graph
	best, bestCost, bestK := int32(-1), math.Inf(1), int32(0)
	for k := g.start[v]; k < g.start[v+1]; k++ {
		p := g.adj[k]
		if f.dist[p] >= f.dist[v] {
			continue
		}
		c := f.net.scale[p] * (f.packets[p] + f.packets[v])
		if f.up != nil {
			c = max(c, f.net.scale[v]*float64(g.etx[k])*f.packets[v]) + 1e-6*float64(f.dist[p]+g.etx[k])
		}
		if c < bestCost {
			best, bestCost, bestK = p, c, k
		}
	}
	f.attach(v, best, g.at(bestK))
	f.packets[best] += f.packets[v]
}

// attach makes v the first child of p without touching packets.
func (f *forest) attach(v, p int32, etx float64) {
	f.parent[v], f.prev[v], f.next[v] = p, -1, f.child[p]
	if f.child[p] >= 0 {
		f.prev[f.child[p]] = v
	}
	f.child[p] = v
	if f.up != nil {
		f.up[v] = float32(etx)
	}
}

func (f *forest) detach(v int32) {
	p := f.parent[v]
	if f.prev[v] >= 0 {
		f.next[f.prev[v]] = f.next[v]
	} else {
		f.child[p] = f.next[v]
	}
	if f.next[v] >= 0 {
		f.prev[f.next[v]] = f.prev[v]
	}
}

// carry adds packets to p and all nodes above it.
func (f *forest) carry(p int32, packets float64) {
	for ; p >= 0; p = f.parent[p] {
		f.packets[p] += packets
	}
}

// reorder lists parents before children again after moves.
func (f *forest) reorder() {
	f.order = slices.DeleteFunc(f.order, func(u int32) bool { return f.parent[u] >= 0 })
	for k := 0; k < len(f.order); k++ {
		for c := f.child[f.order[k]]; c >= 0; c = f.next[c] {
			f.order = append(f.order, c)
		}
	}
}

// fair is the cost that each source would have if all packets were divided evenly among them.
func (f *forest) fair(sources []int32) float64 {
	packets, share := 0.0, 0.0
	for _, s := range sources {
		packets += f.packets[s]
		share += 1 / f.net.scale[s]
	}
	return packets / max(share, 1e-300)
}

// worst is the largest cost and its node, -1 when nothing is reached.
func (f *forest) worst() (float64, int32) {
	most, at := 0.0, int32(-1)
	for _, u := range f.order {
		if c := f.cost(u); at < 0 || c > most {
			most, at = c, u
		}
	}
	return most, at
}

// excess is the sum of what nodes cost above target.
func (f *forest) excess(target float64) float64 {
	sum := 0.0
	for _, u := range f.order {
		if c := f.cost(u); c > target {
			sum += c - target
		}
	}
	return sum
}

// centre is the weighted centroid of the tree that hangs from root: it walks down while one child carries more than half.
func (f *forest) centre(root int32) int32 {
	half := f.packets[root] / 2
	for {
		heavy := int32(-1)
		for c := f.child[root]; c >= 0; c = f.next[c] {
			if f.packets[c] > half {
				heavy = c
			}
		}
		if heavy < 0 {
			return root
		}
		root = heavy
	}
}
