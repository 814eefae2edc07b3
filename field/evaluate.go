package field

import "math"

// evaluator finds the routing and the loads that a route allows.
type evaluator struct {
	net    *network
	f      *forest
	h      *hearing
	want   []bool
	parts  int // wanted
	heard  []int32
	packet []float64 // per tour: uploaded packets
	// layered routes by fewest hops even where growing evenly is possible.
	layered bool
}

func newEvaluator(net *network, want []bool) *evaluator {
	e := &evaluator{net: net, f: newForest(net), h: newHearing(net), want: want, heard: make([]int32, net.parts)}
	for c, wanted := range net.wanted() {
		if want[c] {
			e.parts++
		} else if wanted {
			e.h.leave = resize(e.h.leave, net.parts)
			e.h.leave[c] = true
		}
	}
	return e
}

// total is the number of packets of all wanted parts.
func (e *evaluator) total() float64 {
	sum := 0.0
	for u, w := range e.net.weight {
		if e.want[e.net.part[u]] {
			sum += w
		}
	}
	return sum
}

// run routes all packets to the route's stops, moving load off nodes that cost more than target or, if that is more, a
// little more than their fair share; ok is false when
// a wanted part is not visited or a tour misses the deadline.
func (e *evaluator) run(r *route, target float64, passes int) (ok bool) {
	if !e.listen(r) {
		return false
	}
	if e.layered || e.net.graph.etx != nil {
		e.f.grow(e.h.sources)
	} else {
		e.f.spread(e.h.sources)
	}
	e.f.relieve(max(target, 1.1*e.f.fair(e.h.sources)), passes)
	return e.timely(r)
}

// rerun does the same, but starts from the hops of an earlier plan.
func (e *evaluator) rerun(r *route, parent []int32, target float64, passes int) (ok bool) {
	if !e.listen(r) {
		return false
	}
	e.f.regrow(e.h.sources, parent)
	e.f.relieve(max(target, 1.1*e.f.fair(e.h.sources)), passes)
	return e.timely(r)
}

// listen finds who can upload on the route, and tells whether somebody can in every wanted part.
func (e *evaluator) listen(r *route) bool {
	found := 0
	for _, u := range e.h.hear(r) {
		if c := e.net.part[u]; e.heard[c] != e.h.round {
			e.heard[c] = e.h.round
			if e.want[c] {
				found++
			}
		}
	}
	return found >= e.parts
}

// timely checks each tour's deadline with the packets that it receives.
func (e *evaluator) timely(r *route) bool {
	e.packet = e.packet[:0]
	for range r.tours {
		e.packet = append(e.packet, 0)
	}
	for _, u := range e.h.sources {
		e.packet[e.h.tour[u]] += e.f.packets[u]
	}
	for i, tour := range r.tours {
		if !e.net.fits(tour, e.packet[i]) {
			return false
		}
	}
	return true
}

// spread notes at each anchor how many packets are uploaded there: nearest to it on short tours, else within its reach.
func (e *evaluator) spread(r *route) {
	const short = 64
	for k, tour := range r.tours {
		for i := range tour {
			tour[i].use = 0
			switch {
			case e.net.in.Upload == Buffer:
				tour[i].use = e.f.packets[tour[i].node]
			case len(tour) > short:
				e.net.index.near(tour[i].pos, e.net.reach, func(u int32) bool {
					if e.h.stamp[u] == e.h.round && int(e.h.tour[u]) == k {
						tour[i].use += e.f.packets[u]
					}
					return true
				})
			}
		}
	}
	if e.net.in.Upload == Buffer {
		return
	}
	for _, u := range e.h.sources {
		tour := r.tours[e.h.tour[u]]
		if len(tour) > short {
			continue
		}
		best, bestD := 0, math.Inf(1)
		for i := range tour {
			if d := e.net.pos[u].Dist(tour[i].pos); d < bestD {
				best, bestD = i, d
			}
		}
		tour[best].use += e.f.packets[u]
	}
}
