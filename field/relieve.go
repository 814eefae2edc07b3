package field

import (
	"cmp"
	"math"
	"slices"
)

// relieve moves subtrees of nodes that cost more than target to hosts whose way to a source then costs
// less than the relieved node did: the sorted vector of costs falls with each move, so it ends. It
// makes at most the given number of passes and visits a number of nodes that is linear in the graph.
func (f *forest) relieve(target float64, passes int) {
	f.steps = 15*(len(f.net.graph.adj)+len(f.order)) + 10_000
	f.label()
	for range passes {
		f.busy = f.busy[:0]
		for _, u := range f.order {
			if f.cost(u) > target && f.child[u] >= 0 && (!f.even || f.parent[u] == ToSink) {
				f.busy = append(f.busy, u)
			}
		}
		slices.SortFunc(f.busy, func(a, b int32) int { return cmp.Or(cmp.Compare(f.cost(b), f.cost(a)), cmp.Compare(a, b)) })
		moved := false
		for _, b := range f.busy {
			if f.cost(b) > target && f.shed(b, target) {
				moved = true
			}
		}
		if !moved || f.steps <= 0 {
			break
		}
	}
}

// label notes the source of every node. Order lists parents before children as long as nothing was moved.
func (f *forest) label() {
	if !f.even {
		return
	}
	for _, u := range f.order {
		if p := f.parent[u]; p >= 0 {
			f.root[u] = f.root[p]
		} else {
			f.root[u] = u
		}
	}
}

// shed moves subtrees away from b while it costs more than target.
func (f *forest) shed(b int32, target float64) (moved bool) {
	for w := f.parent[b]; w >= 0; w = f.parent[w] {
		f.above[w] = true
	}
	f.stack = append(f.stack[:0], b)
	for len(f.stack) > 0 && f.steps > 0 {
		v := f.stack[len(f.stack)-1]
		f.stack = f.stack[:len(f.stack)-1]
		if v != b {
			if k := f.host(v, b); k >= 0 {
				f.move(v, k)
				moved = true
				if f.cost(b) <= target {
					break
				}
				continue
			}
		}
		for c := f.child[v]; c >= 0; c = f.next[c] {
			if f.packets[c] > 0 {
				f.stack = append(f.stack, c)
			}
		}
	}
	for w := f.parent[b]; w >= 0; w = f.parent[w] {
		f.above[w] = false
	}
	return moved
}

// host finds the link of v to the node that can take over its subtree from b at least cost, less
// than b costs now; -1 when there is none.
func (f *forest) host(v, b int32) int32 {
	g, s := f.net.graph, f.packets[v]
	best, bestCost := int32(-1), f.cost(b)*(1-1e-9)
	for k := g.start[v]; k < g.start[v+1]; k++ {
		p := g.adj[k]
		f.steps--
		if p == f.parent[v] || f.parent[p] == NoRoute {
			continue
		}
		c := math.Inf(1)
		if !f.even {
			c = f.wayCost(v, b, p, g.at(k), bestCost)
		} else if r := f.root[p]; r != b {
			c = f.packets[r] + s
		}
		if c < bestCost {
			best, bestCost = k, c
		}
	}
	return best
}

// wayCost is the largest cost on the way of p to a source if v hung there instead of below b; +Inf when the way passes b or v,
// and anything from limit on when it is at least that.
func (f *forest) wayCost(v, b, p int32, etx, limit float64) float64 {
	s := f.packets[v]
	c := f.net.scale[v] * etx * s
	for w := p; w >= 0 && c < limit; w = f.parent[w] {
		f.steps--
		if w == b || w == v {
			return math.Inf(1)
		}
		if f.above[w] {
			break
		}
		c = max(c, f.costWith(w, f.packets[w]+s))
	}
	return c
}

// move hangs v below the far end of its link k.
func (f *forest) move(v, k int32) {
	f.carry(f.parent[v], -f.packets[v])
	f.detach(v)
	f.attach(v, f.net.graph.adj[k], f.net.graph.at(k))
	f.carry(f.parent[v], f.packets[v])
	if f.even {
		f.relabel(v, f.root[f.parent[v]])
	}
}

// relabel gives the subtree of v another source.
func (f *forest) relabel(v, root int32) {
	from := len(f.stack)
	f.stack = append(f.stack, v)
	for len(f.stack) > from {
		u := f.stack[len(f.stack)-1]
		f.stack = f.stack[:len(f.stack)-1]
		f.root[u] = root
		f.steps--
		for c := f.child[u]; c >= 0; c = f.next[c] {
			f.stack = append(f.stack, c)
		}
	}
}
