package field

import (
	"cmp"
	"fmt"
	"slices"
)

// Graph is the radio graph in compressed rows: neighbours of each sensor in ascending order.
type Graph struct {
	start []int32
	adj   []int32
	etx   []float32 // beside adj; nil when every link's ETX is 1
}

// maxLinks bounds the directed links of a graph (half a GiB of neighbours).
const maxLinks = 1 << 27

// NewGraph builds the radio graph of an instance: its links when given, else every pair of sensors within
// range whose line no shield crosses. Sensors without energy have no links.
func NewGraph(in *Instance) (*Graph, error) {
	n := len(in.Sensors)
	pos, alive := make([]Point, n), make([]bool, n)
	for i := range in.Sensors {
		pos[i], alive[i] = in.Sensors[i].Pos, in.Sensors[i].Energy > 0
	}
	if in.Links != nil {
		return linkGraph(n, in.Links, func(i int) int32 {
			if alive[i] {
				return int32(i)
			}
			return -1
		})
	}
	shields := polygonsOf(in.Obstacles, func(o Obstacle) bool { return o.Shield })
	return rangeGraph(newGrid(pos, in.Range), in.Range, shields, alive)
}

// Len is the number of sensors.
func (g *Graph) Len() int { return len(g.start) - 1 }

// Neighbors lists the sensors that u has a link to; the caller must not change it.
func (g *Graph) Neighbors(u int) []int32 { return g.adj[g.start[u]:g.start[u+1]] }

// ETX is the expected transmissions per packet on link uv, 0 when there is no link.
func (g *Graph) ETX(u, v int) float64 {
	k, ok := slices.BinarySearch(g.Neighbors(u), int32(v))
	switch {
	case !ok:
		return 0
	case g.etx == nil:
		return 1
	}
	return float64(g.etx[int(g.start[u])+k])
}

// at is the ETX of the k-th entry of adj.
func (g *Graph) at(k int32) float64 {
	if g.etx == nil {
		return 1
	}
	return float64(g.etx[k])
}

// rangeGraph links points within r. alive may be nil.
func rangeGraph(index *grid, r float64, shields []polygon, alive []bool) (*Graph, error) {
	n := len(index.pos)
	if index.crowded(r, maxLinks) {
		return nil, &InputError{Field: "range", Sensor: -1, Problem: fmt.Sprintf("%g m gives more than %d links; use a smaller range", r, maxLinks/2)}
	}
	g := &Graph{start: make([]int32, n+1), adj: make([]int32, 0, 16*n)}
	for u := range int32(n) {
		if alive == nil || alive[u] {
			g.adj = index.appendNear(g.adj, index.pos[u], r)
		}
		row := g.adj[g.start[u]:]
		kept := row[:0]
		for _, v := range row {
			if u != v && (alive == nil || alive[v]) && (len(shields) == 0 || !anyCrossed(shields, index.pos[min(u, v)], index.pos[max(u, v)])) {
				kept = append(kept, v)
			}
		}
		g.adj = g.adj[:int(g.start[u])+len(kept)]
		g.start[u+1] = int32(len(g.adj))
	}
	g.sortRows()
	return g, nil
}

// sortRows puts each row in ascending order: as links go both ways, the transposed graph is the same, and its rows fill up
// in that order.
func (g *Graph) sortRows() {
	next, sorted := slices.Clone(g.start[:g.Len()]), make([]int32, len(g.adj))
	for u := range int32(g.Len()) {
		for _, v := range g.Neighbors(int(u)) {
			sorted[next[v]] = u
			next[v]++
		}
	}
	g.adj = sorted
}

// linkGraph builds a graph of n nodes from links whose ends rename maps to nodes (-1 drops the link).
// Of repeated links the best counts.
func linkGraph(n int, links []Link, rename func(i int) int32) (*Graph, error) {
	type arc struct {
		u, v int32
		etx  float32
	}
	if len(links) > maxLinks/2 {
		return nil, &InputError{Field: "links", Sensor: -1, Problem: fmt.Sprintf("more than %d links", maxLinks/2)}
	}
	arcs := make([]arc, 0, 2*len(links))
	plain := true
	for _, l := range links {
		u, v := rename(l.A), rename(l.B)
		if u >= 0 && v >= 0 {
			arcs = append(arcs, arc{u, v, float32(l.ETX)}, arc{v, u, float32(l.ETX)})
			plain = plain && l.ETX == 1
		}
	}
	slices.SortFunc(arcs, func(a, b arc) int {
		return cmp.Or(cmp.Compare(a.u, b.u), cmp.Compare(a.v, b.v), cmp.Compare(a.etx, b.etx))
	})
	arcs = slices.CompactFunc(arcs, func(a, b arc) bool { return a.u == b.u && a.v == b.v })
	g := &Graph{start: make([]int32, n+1), adj: make([]int32, len(arcs))}
	if !plain {
		g.etx = make([]float32, len(arcs))
	}
	for k, a := range arcs {
		g.adj[k] = a.v
		g.start[a.u+1]++
		if !plain {
			g.etx[k] = a.etx
		}
	}
	for u := range n {
		g.start[u+1] += g.start[u]
	}
	return g, nil
}

// components labels each node with the number of its connected part; parts are numbered in order of
// their first node.
func (g *Graph) components() (label []int32, count int) {
	label = make([]int32, g.Len())
	for i := range label {
		label[i] = -1
	}
	var stack []int32
	for s := range label {
		if label[s] >= 0 {
			continue
		}
		label[s] = int32(count)
		stack = append(stack[:0], int32(s))
		for len(stack) > 0 {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, v := range g.Neighbors(int(u)) {
				if label[v] < 0 {
					label[v] = int32(count)
					stack = append(stack, v)
				}
			}
		}
		count++
	}
	return label, count
}
