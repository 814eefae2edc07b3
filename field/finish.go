package field

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// seconds turns seconds into a duration.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// waypoint is a stop in the making: where on a tour's legs it lies.
type waypoint struct {
	pos  Point
	leg  int
	part float64 // of the leg
	node int32   // in the Buffer model
}

// finish writes the evaluator's last result down as a plan in terms of sensors.
func (e *evaluator) finish(r *route) *Plan {
	n := len(e.net.in.Sensors)
	p := &Plan{Method: "rps-lb", Parent: make([]int32, n), Stop: make([]int32, n), Load: make([]float64, n), Busiest: -1,
		Stops: []Stop{}, Tours: []Tour{}, Unserved: []Unserved{}}
	for i := range n {
		p.Parent[i], p.Stop[i] = NoRoute, -1
	}
	for u, i := range e.net.orig {
		if q := e.f.parent[u]; q >= 0 {
			p.Parent[i] = e.net.orig[q]
		} else {
			p.Parent[i] = q
		}
	}
	for k := range r.tours {
		e.addTour(p, r.tours[k], int32(k))
	}
	e.hangIdle(p)
	settleLoads(e.net.in, p)
	for i, parent := range p.Parent {
		if parent == NoRoute {
			p.Unserved = append(p.Unserved, Unserved{i, e.net.reason(i)})
		}
	}
	return p
}

// reason says why sensor i has no route.
func (net *network) reason(i int) Reason {
	switch s := net.in.Sensors[i]; {
	case s.Energy == 0:
		return NoEnergy
	case s.Weight == 0:
		return NothingSent
	}
	return OutOfReach
}

// addTour makes the stops of a tour, assigns its sources to them and adds up its times.
func (e *evaluator) addTour(p *Plan, tour []anchor, number int32) {
	var sources []int32
	for _, u := range e.h.sources {
		if e.h.tour[u] == number && e.f.packets[u] > 0 {
			sources = append(sources, u)
		}
	}
	if len(sources) == 0 {
		return
	}
	slices.Sort(sources)
	t := Tour{Path: e.net.path(tour)}
	first := int32(len(p.Stops))
	owner := make(map[int32]int32, len(tour)) // in the Buffer model: the stop of each node, by number in this tour
	for _, w := range e.waypoints(tour, sources) {
		owner[w.node] = int32(len(t.Stops))
		t.Stops = append(t.Stops, int32(len(p.Stops)))
		p.Stops = append(p.Stops, Stop{Pos: w.pos, Alt: e.net.stopAltitude(w)})
	}
	index := newGrid(stopPositions(p.Stops[first:]), max(e.net.reach, 1))
	for _, u := range sources {
		s, ok := owner[u]
		if !ok {
			s = index.closest(e.net.pos[u], func(k int32) bool { return e.net.hears(p.Stops[first+k].Pos, u) })
		}
		stop := &p.Stops[first+s]
		stop.Uploaders = append(stop.Uploaders, e.net.orig[u])
		stop.Packets += e.f.packets[u]
		p.Stop[e.net.orig[u]] = first + s
	}
	e.dropIdle(p, &t, first)
	timeTour(e.net.in, p, &t)
	p.Tours = append(p.Tours, t)
}

func stopPositions(stops []Stop) []Point {
	pos := make([]Point, len(stops))
	for i := range stops {
		pos[i] = stops[i].Pos
	}
	return pos
}

func (net *network) stopAltitude(w waypoint) float64 { return net.altitude(w.pos, w.node) }

// dropIdle removes the tour's stops at which nothing is uploaded, and the bends in the line driven that led to them.
func (e *evaluator) dropIdle(p *Plan, t *Tour, first int32) {
	kept := first
	for s := first; s < int32(len(p.Stops)); s++ {
		if len(p.Stops[s].Uploaders) == 0 {
			continue
		}
		for _, i := range p.Stops[s].Uploaders {
			p.Stop[i] = kept
		}
		slices.Sort(p.Stops[s].Uploaders)
		p.Stops[kept] = p.Stops[s]
		kept++
	}
	if kept == int32(len(p.Stops)) {
		return
	}
	p.Stops = p.Stops[:kept]
	t.Stops = t.Stops[:kept-first]
	var tour []anchor
	for i := range p.Stops[first:] {
		tour = append(tour, anchor{pos: p.Stops[int(first)+i].Pos})
	}
	const rounding = 1e-9 // metres, far below what the allowance keeps back
	if path := e.net.path(tour); pathLength(path) <= pathLength(t.Path)+rounding {
		t.Path = path
	}
}

func pathLength(path []Point) float64 {
	sum := 0.0
	for k := 1; k < len(path); k++ {
		sum += path[k-1].Dist(path[k])
	}
	return sum
}

// waypoints chooses where on the tour to stop: at the anchors and, where stops cost nothing, at as few further
// places of each leg as hear the sources that no anchor hears.
func (e *evaluator) waypoints(tour []anchor, sources []int32) []waypoint {
	legs := e.net.legs(tour)
	var list []waypoint
	leg := 0
	for i := range tour {
		for leg < len(legs)-1 && legs[leg][1] != tour[i].pos && legs[leg][0] != tour[i].pos {
			leg++
		}
		part := 0.0
		if legs[leg][1] == tour[i].pos {
			part = 1
		}
		list = append(list, waypoint{tour[i].pos, leg, part, tour[i].node})
	}
	if !e.net.enRoute() {
		return list
	}
	index := newGrid(stopPositionsOf(list), max(e.net.reach, 1))
	var left []int32
	for _, u := range sources {
		if index.closest(e.net.pos[u], func(k int32) bool { return e.net.hears(list[k].pos, u) }) < 0 {
			left = append(left, u)
		}
	}
	list = append(list, e.net.stab(legs, left)...)
	slices.SortStableFunc(list, func(a, b waypoint) int { return cmp.Or(cmp.Compare(a.leg, b.leg), cmp.Compare(a.part, b.part)) })
	return list
}

func stopPositionsOf(list []waypoint) []Point {
	pos := make([]Point, len(list))
	for i := range list {
		pos[i] = list[i].pos
	}
	return pos
}

// stab picks places on the legs that hear all of the nodes: each node has an interval on its nearest leg, and
// the fewest points that hit all intervals of a leg are their ends in order.
func (net *network) stab(legs [][2]Point, nodes []int32) []waypoint {
	type interval struct {
		leg    int
		lo, hi float64
		end    Point
	}
	var list []interval
	index := newLegIndex(legs, net.reach)
	for _, u := range nodes {
		leg, at := index.nearest(net.pos[u], func(q Point) bool { return net.hears(q, u) })
		a, b := legs[leg][0], legs[leg][1]
		v := interval{leg, partOf(at, a, b), partOf(at, a, b), at}
		if lo, hi, ok := chord(net.pos[u], a, b, net.reach*(1-1e-9)); ok && len(net.shields) == 0 {
			v = interval{leg, lo, hi, along(a, b, hi)}
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.leg, b.leg), cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo))
	})
	var out []waypoint
	for _, v := range list {
		if k := len(out) - 1; k >= 0 && out[k].leg == v.leg && out[k].part >= v.lo && (v.lo < v.hi || out[k].pos == v.end) {
			continue
		}
		out = append(out, waypoint{v.end, v.leg, v.hi, -1})
	}
	return out
}

// partOf is where q, a point of segment ab, lies on it.
func partOf(q, a, b Point) float64 {
	if d := a.Dist(b); d > 0 {
		return a.Dist(q) / d
	}
	return 0
}

// hangIdle gives sensors that pass nothing on, and so cost no stop, the way to a stop that hears them or to a served neighbour.
func (e *evaluator) hangIdle(p *Plan) {
	net := e.net
	index := newGrid(stopPositions(p.Stops), max(net.reach, 1))
	var idle []int32
	for _, u := range e.h.sources {
		if i := net.orig[u]; p.Stop[i] < 0 {
			idle = append(idle, u)
			p.Parent[i] = NoRoute
		}
	}
	for again := true; again; {
		again = false
		for _, u := range idle {
			i := net.orig[u]
			if p.Parent[i] != NoRoute {
				continue
			}
			if s := index.closest(net.pos[u], func(k int32) bool { return net.in.Upload == Listen && net.hears(p.Stops[k].Pos, u) }); s >= 0 {
				p.Parent[i], p.Stop[i] = ToSink, s
				p.Stops[s].Uploaders = append(p.Stops[s].Uploaders, i)
				slices.Sort(p.Stops[s].Uploaders)
				again = true
				continue
			}
			for _, v := range net.graph.Neighbors(int(u)) {
				if q := net.orig[v]; p.Parent[q] != NoRoute && !leadsTo(p, q, i) {
					p.Parent[i], again = q, true
					break
				}
			}
		}
	}
	for changed := true; changed; { // what hung from an idle sensor without a way has none either
		changed = false
		for _, i := range net.orig {
			if q := p.Parent[i]; q >= 0 && p.Parent[q] == NoRoute {
				p.Parent[i], changed = NoRoute, true
			}
		}
	}
}

// leadsTo reports whether the way of q passes through i.
func leadsTo(p *Plan, q, i int32) bool {
	for ; q >= 0; q = p.Parent[q] {
		if q == i {
			return true
		}
	}
	return false
}

// timeTour fills in a tour's length and times from its path and stops, and the dwell of its stops.
func timeTour(in *Instance, p *Plan, t *Tour) {
	t.Length = pathLength(t.Path)
	dwell := 0.0
	for _, s := range t.Stops {
		stop := &p.Stops[s]
		wait := in.Sink.wait(stop.Packets)
		stop.Dwell = seconds(wait)
		dwell += wait
	}
	t.Travel, t.Dwell = seconds(t.Length/in.Sink.Speed), seconds(dwell)
	t.Turn, t.Climb = in.Sink.Turn*time.Duration(len(t.Stops)), in.Sink.Launch
	if in.Sink.Climb > 0 {
		t.Climb += seconds(rise(in, p, t) / in.Sink.Climb)
	}
	t.Total = t.Travel + t.Dwell + t.Turn + t.Climb
}

// wait is how many seconds the sink stays for a stop's packets, in whole holds.
func (s *Sink) wait(packets float64) float64 {
	if s.Rate == 0 {
		return 0
	}
	wait := packets / s.Rate
	if hold := s.Hold.Seconds(); hold > 0 {
		wait = math.Ceil(wait/hold-1e-9) * hold
	}
	return wait
}

// rise is the sum in metres of the ups and downs between the tour's stops and the depot.
func rise(in *Instance, p *Plan, t *Tour) float64 {
	var alts []float64
	if in.Depot != nil {
		alts = append(alts, in.DepotAlt)
	}
	for _, s := range t.Stops {
		alts = append(alts, p.Stops[s].Alt)
	}
	sum := 0.0
	for k := range alts {
		sum += math.Abs(alts[k] - alts[(k+1)%len(alts)])
	}
	return sum
}

// settleLoads fills in Load, MaxLoad and Busiest from the routes.
func settleLoads(in *Instance, p *Plan) {
	graphETX := etxOf(in)
	most := 0.0
	for i := range in.Sensors {
		most = max(most, in.Sensors[i].Energy)
	}
	p.MaxLoad, p.Busiest = 0, -1
	for i, packets := range Packets(in, p) {
		p.Load[i] = packets
		if parent := p.Parent[i]; parent >= 0 {
			p.Load[i] *= graphETX(i, int(parent))
		} else if parent == NoRoute {
			p.Load[i] = 0
			continue
		}
		if scaled := p.Load[i] * most / in.Sensors[i].Energy; p.Busiest < 0 || scaled > p.MaxLoad {
			p.MaxLoad, p.Busiest = scaled, i
		}
	}
}

// etxOf looks up the ETX of links between sensors.
func etxOf(in *Instance) func(i, j int) float64 {
	if in.Links == nil {
		return func(i, j int) float64 { return 1 }
	}
	table := make(map[[2]int]float64, len(in.Links))
	for _, l := range in.Links {
		pair := [2]int{min(l.A, l.B), max(l.A, l.B)}
		if old, ok := table[pair]; !ok || l.ETX < old {
			table[pair] = l.ETX
		}
	}
	return func(i, j int) float64 { return table[[2]int{min(i, j), max(i, j)}] }
}
