package field

import (
	"math"
	"math/rand/v2"
	"slices"
)

// anchor is a place that a route goes through.
type anchor struct {
	pos  Point
	alt  float64
	node int32   // the node that uploads here in the Buffer model, else -1
	keep []int32 // nodes that must stay within reach while the anchor slides
	use  float64 // packets uploaded around it in the last evaluation
}

// route is one closed tour through anchors per vehicle; the depot, when there is one, is not among them.
type route struct {
	net   *network
	tours [][]anchor
}

func (net *network) anchorAt(p Point, node int32) anchor {
	a := anchor{pos: p, node: node}
	if net.in.Sink.Climb > 0 {
		a.alt = net.altitude(p, node)
	}
	return a
}

// altitude is that of the highest node that a sink waiting at p can hear.
func (net *network) altitude(p Point, node int32) float64 {
	if node >= 0 {
		return net.alt[node]
	}
	alt := math.Inf(-1)
	net.index.near(p, net.reach, func(i int32) bool { alt = max(alt, net.alt[i]); return true })
	if math.IsInf(alt, -1) {
		return 0
	}
	return alt
}

// leg is the cost of driving from a to b in metres of level travel; climbing counts at its price in time.
func (net *network) leg(a, b *anchor) float64 {
	d := net.air.dist(a.pos, b.pos)
	if c := net.in.Sink.Climb; c > 0 {
		d += math.Abs(a.alt-b.alt) * net.in.Sink.Speed / c
	}
	return d
}

// stopTime is what one stop takes in seconds beside the packets uploaded there: the turn and, where waits are
// rounded up, what the rounding may add.
func (net *network) stopTime() float64 {
	s := net.in.Sink
	if s.Rate == 0 {
		return s.Turn.Seconds()
	}
	return (s.Turn + s.Hold).Seconds()
}

// turnCost is the price of one stop in metres of travel.
func (net *network) turnCost() float64 { return net.stopTime() * net.in.Sink.Speed }

// depot is the anchor where tours start, nil for a free start.
func (net *network) depot() *anchor {
	if net.in.Depot == nil {
		return nil
	}
	return &anchor{pos: *net.in.Depot, alt: net.in.DepotAlt, node: -1}
}

// neighboursOf returns what comes before and after place i of tour: an anchor or the depot.
func neighboursOf(tour []anchor, depot *anchor, i int) (before, after *anchor) {
	n := len(tour)
	before, after = &tour[(i-1+n)%n], &tour[(i+1)%n]
	if depot != nil && i == 0 {
		before = depot
	}
	if depot != nil && i == n-1 {
		after = depot
	}
	return before, after
}

// cost is a tour's cost in metres: legs and turns.
func (net *network) cost(tour []anchor) float64 {
	return net.drive(tour) + net.turnCost()*float64(len(tour))
}

// drive is the cost of a tour's legs, 0 when it never leaves one place.
func (net *network) drive(tour []anchor) float64 {
	depot := net.depot()
	sum := 0.0
	for i := range tour {
		_, after := neighboursOf(tour, depot, i)
		sum += net.leg(&tour[i], after)
	}
	if depot != nil && len(tour) > 0 {
		sum += net.leg(depot, &tour[0])
	}
	return sum
}

// allowance is what a tour may cost in metres when its sink waits at stops for dwell seconds.
// The last millionth is kept back for rounding.
func (net *network) allowance(dwell float64) float64 {
	s := net.in.Sink
	return (s.Deadline.Seconds()-s.Launch.Seconds()-dwell)*s.Speed*(1-1e-9) - 1e-6
}

// dwell is the time in seconds to receive a number of packets.
func (net *network) dwell(packets float64) float64 {
	if net.in.Sink.Rate == 0 {
		return 0
	}
	return packets / net.in.Sink.Rate
}

// parked is the time in seconds of a tour of some stops at one place.
func (net *network) parked(stops int, packets float64) float64 {
	return net.in.Sink.Launch.Seconds() + net.stopTime()*float64(stops) + net.dwell(packets)
}

// fits reports whether a tour that receives packets keeps the deadline.
func (net *network) fits(tour []anchor, packets float64) bool {
	if len(tour) == 0 {
		return true
	}
	drive := net.drive(tour)
	if drive == 0 {
		return net.parked(len(tour), packets) <= net.in.Sink.Deadline.Seconds()
	}
	return drive+net.turnCost()*float64(len(tour)) <= net.allowance(net.dwell(packets))
}

// metric returns the cost between places of a list, from a table when detours make it dear.
func (net *network) metric(list []anchor) func(a, b int32) float64 {
	const tabled = 1500
	if net.air == nil && net.in.Sink.Climb == 0 {
		return func(a, b int32) float64 { return list[a].pos.Dist(list[b].pos) }
	}
	if n := len(list); n <= tabled {
		table := make([]float64, n*n)
		for a := range n {
			for b := range a {
				d := net.leg(&list[a], &list[b])
				table[a*n+b], table[b*n+a] = d, d
			}
		}
		return func(a, b int32) float64 { return table[int(a)*n+int(b)] }
	}
	return func(a, b int32) float64 { return net.leg(&list[a], &list[b]) }
}

// kicksFor is how often a tour of n places is kicked: often enough for small ones to be all but optimal.
func kicksFor(n int) int { return min(40*n, 40_000) }

// arrange orders one tour anew: the starting order is the given one or, when fresh, a Hilbert curve.
func (net *network) arrange(tour []anchor, fresh bool, kicks int, rng *rand.Rand) []anchor {
	depot := net.depot()
	list := tour
	if depot != nil {
		list = append(append(make([]anchor, 0, len(tour)+1), *depot), tour...)
	}
	if len(list) < 4 {
		return tour
	}
	pos := make([]Point, len(list))
	order := make([]int32, len(list))
	for i := range list {
		pos[i], order[i] = list[i].pos, int32(i)
	}
	if fresh {
		order = hilbertOrder(pos)
	}
	t := newTSP(pos, order, net.metric(list))
	t.optimise(kicks, rng)
	out := make([]anchor, 0, len(tour))
	start := 0
	if depot != nil {
		start = int(t.at[0])
	}
	for k := range t.order {
		c := t.order[(start+k)%len(t.order)]
		if depot == nil || c != 0 {
			out = append(out, list[c])
		}
	}
	return out
}

// deal arranges anchors into one tour for each vehicle: one tour through all, cut into pieces whose
// costliest is as cheap as can be, each arranged again.
func (net *network) deal(anchors []anchor, kicks int, rng *rand.Rand) route {
	r := route{net: net}
	whole := net.arrange(anchors, true, kicks, rng)
	m := min(net.in.Vehicles(), len(whole))
	if m <= 1 {
		r.tours = [][]anchor{whole}
		return r
	}
	low, high := 0.0, net.cost(whole)
	for range 40 {
		mid := (low + high) / 2
		if len(net.cut(whole, mid)) <= m {
			high = mid
		} else {
			low = mid
		}
	}
	for _, piece := range net.cut(whole, high) {
		r.tours = append(r.tours, net.arrange(slices.Clone(piece), false, kicks, rng))
	}
	return r
}

// cut splits a tour into pieces of at most the given cost, front to back; a piece has at least one anchor.
func (net *network) cut(whole []anchor, most float64) [][]anchor {
	var pieces [][]anchor
	depot, from, line := net.depot(), 0, 0.0
	for i := 1; i <= len(whole); i++ {
		if i < len(whole) {
			line += net.leg(&whole[i-1], &whole[i])
			first, last := &whole[i], &whole[from]
			closing := net.leg(first, last)
			if depot != nil {
				closing = net.leg(depot, first) + net.leg(depot, last)
			}
			if line+closing+net.turnCost()*float64(i-from+1) <= most {
				continue
			}
		}
		pieces = append(pieces, whole[from:i])
		from, line = i, 0
	}
	return pieces
}

// cheapest is the tour and the place in it at which the route grows least by an anchor, and by how much; the tour is -1 when
// there is none.
func (r *route) cheapest(a *anchor) (tour, place int, grow float64) {
	depot := r.net.depot()
	tour, grow = -1, math.Inf(1)
	for k, t := range r.tours {
		for i := range t {
			_, after := neighboursOf(t, depot, i)
			if g := r.net.leg(&t[i], a) + r.net.leg(a, after) - r.net.leg(&t[i], after); g < grow {
				tour, place, grow = k, i+1, g
			}
		}
		if depot != nil && len(t) > 0 {
			if g := r.net.leg(depot, a) + r.net.leg(a, &t[0]) - r.net.leg(depot, &t[0]); g < grow {
				tour, place, grow = k, 0, g
			}
		}
	}
	return tour, place, grow
}

// insert puts an anchor where the route grows least.
func (r *route) insert(a anchor) {
	if tour, place, _ := r.cheapest(&a); tour >= 0 {
		r.tours[tour] = slices.Insert(r.tours[tour], place, a)
	}
}

// anchors lists all anchors of the route.
func (r *route) anchors() []anchor { return slices.Concat(r.tours...) }

// clone copies the route deep enough to change tours and anchors.
func (r *route) clone() route {
	c := route{net: r.net, tours: make([][]anchor, len(r.tours))}
	for i, t := range r.tours {
		c.tours[i] = append(make([]anchor, 0, len(t)+4), t...)
	}
	return c
}

// cost is the sum over the tours.
func (r *route) cost() float64 {
	sum := 0.0
	for _, t := range r.tours {
		sum += r.net.cost(t)
	}
	return sum
}
