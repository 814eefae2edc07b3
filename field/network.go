package field

import (
	"cmp"
	"slices"
)

// network is the planner's view of an instance: live sensors only, renumbered along a Hilbert curve
// so that neighbours in the field are neighbours in memory.
type network struct {
	in      *Instance
	orig    []int32 // node -> sensor
	pos     []Point
	alt     []float64
	weight  []float64 // packets
	scale   []float64 // largest energy / energy: what a transmitted packet costs this node
	graph   *Graph
	index   *grid
	reach   float64   // metres at which the sink hears a node; 0 in the Buffer model
	shields []polygon // radio does not pass
	air     *airspace
	total   float64 // sum of weight
	part    []int32 // connected part of each node
	parts   int
	// anchored keeps the sink from stopping between anchors, as the baselines do.
	anchored bool
}

// newNetwork validates the instance and prepares it.
func newNetwork(in *Instance) (*network, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	net := &network{in: in, reach: in.Reach()}
	most := 0.0
	for i := range in.Sensors {
		if in.Sensors[i].Energy > 0 {
			net.orig = append(net.orig, int32(i))
			most = max(most, in.Sensors[i].Energy)
		}
	}
	net.sortAlongCurve()
	n := len(net.orig)
	net.pos, net.alt = make([]Point, n), make([]float64, n)
	net.weight, net.scale = make([]float64, n), make([]float64, n)
	for u, i := range net.orig {
		s := &in.Sensors[i]
		net.pos[u], net.alt[u], net.weight[u], net.scale[u] = s.Pos, s.Alt, s.Weight, most/s.Energy
		net.total += s.Weight
	}
	cell := in.Range
	if cell == 0 {
		cell = net.reach
	}
	net.index = newGrid(net.pos, cell)
	net.shields = polygonsOf(in.Obstacles, func(o Obstacle) bool { return o.Shield })
	var err error
	if net.graph, err = net.newGraph(); err != nil {
		return nil, err
	}
	if net.air, err = newAirspace(in.Obstacles); err != nil {
		return nil, err
	}
	net.part, net.parts = net.graph.components()
	return net, nil
}

func (net *network) newGraph() (*Graph, error) {
	if net.in.Links == nil {
		return rangeGraph(net.index, net.in.Range, net.shields, nil)
	}
	node := make([]int32, len(net.in.Sensors))
	for i := range node {
		node[i] = -1
	}
	for u, i := range net.orig {
		node[i] = int32(u)
	}
	return linkGraph(len(net.orig), net.in.Links, func(i int) int32 { return node[i] })
}

func (net *network) len() int { return len(net.orig) }

// sortAlongCurve puts orig in the order of a Hilbert curve through the sensors; equal keys keep
// the order of the input.
func (net *network) sortAlongCurve() {
	points := make([]Point, len(net.orig))
	for u, i := range net.orig {
		points[u] = net.in.Sensors[i].Pos
	}
	order := hilbertOrder(points)
	sorted := make([]int32, len(order))
	for k, u := range order {
		sorted[k] = net.orig[u]
	}
	net.orig = sorted
}

// hilbertOrder lists the indices of points in the order of a Hilbert curve over their bounding square.
func hilbertOrder(points []Point) []int32 {
	type keyed struct {
		key uint64
		i   int32
	}
	b := boxOf(points)
	side := max(b.max.X-b.min.X, b.max.Y-b.min.Y, 1e-9)
	list := make([]keyed, len(points))
	for i, p := range points {
		x := uint32((p.X - b.min.X) / side * ((1 << 20) - 1))
		y := uint32((p.Y - b.min.Y) / side * ((1 << 20) - 1))
		list[i] = keyed{hilbertKey(x, y, 20), int32(i)}
	}
	slices.SortFunc(list, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.i, b.i)) })
	order := make([]int32, len(points))
	for k, e := range list {
		order[k] = e.i
	}
	return order
}

// hilbertKey is the position of cell (x, y) on the Hilbert curve of the given order.
func hilbertKey(x, y uint32, order int) uint64 {
	var key uint64
	for s := uint32(1) << (order - 1); s > 0; s >>= 1 {
		var rx, ry uint32
		if x&s != 0 {
			rx = 1
		}
		if y&s != 0 {
			ry = 1
		}
		key = key<<2 | uint64((3*rx)^ry)
		if ry == 0 {
			if rx == 1 {
				x, y = s*2-1-x&(s*2-1), s*2-1-y&(s*2-1)
			}
			x, y = y, x
		}
	}
	return key
}

// hears reports whether a sink that waits at p hears node u in the Listen model.
func (net *network) hears(p Point, u int32) bool {
	return p.Dist(net.pos[u]) <= net.reach && !anyCrossed(net.shields, p, net.pos[u])
}
