package field

import (
	"context"
	"slices"
)

// Replan adapts a plan to an instance that differs a little from the one it was made for: sensors that moved, came, died or
// produce more, another deadline. It keeps the old route and, as far as they still lead to it, the old hops; it visits parts that the route no
// longer reaches, balances loads anew and, in small networks, makes a few improvement steps, in a small part of the time
// of [Solve], to which it turns when the route cannot be kept. Sensors are taken to have the numbers that they had; where they have not, their hops are
// found anew. Its certificate is only that every sensor sends its own packets.
func Replan(ctx context.Context, in *Instance, old *Plan, opt Options) (*Plan, error) {
	net, err := newNetwork(in)
	if err != nil {
		return nil, err
	}
	s := &solver{net: net, opt: opt, want: net.wanted()}
	s.eval = newEvaluator(net, s.want)
	r := net.routeOf(old)
	if !s.reachAll(&r, old) {
		return Solve(ctx, in, opt)
	}
	proof := s.ownPackets()
	kept, _ := s.eval.f.worst()
	const worthwhile = 10 // fewer steps than that gain nothing
	if steps := defaultEffort(net) / 40; steps >= worthwhile {
		search := newSearch(s.eval, r.clone(), opt.rng(forSearch))
		search.floor = proof.Bound
		search.resume()
		if err := search.improve(ctx, 0, steps, steps, func(done int) { opt.report("improve", done, steps) }); err != nil {
			return nil, err
		}
		s.settle(&search.best)
		if load, _ := s.eval.f.worst(); load < kept {
			r = search.best
		} else {
			s.eval.rerun(&r, old.Parent, old.MaxLoad, replanPasses)
		}
	}
	return s.publish(ctx, s.eval.finish(&r), proof)
}

// replanPasses is how often loads are moved when a plan is adapted.
const replanPasses = 12

// routeOf is the route of a plan: where its tours turn, or the nodes that are its stops.
func (net *network) routeOf(p *Plan) route {
	r := route{net: net}
	for _, t := range p.Tours {
		var tour []anchor
		if net.in.Upload == Buffer || !net.enRoute() {
			for _, s := range t.Stops {
				tour = append(tour, net.anchorNear(p.Stops[s].Pos))
			}
		} else {
			for _, q := range t.Path[:max(len(t.Path)-1, min(len(t.Path), 1))] {
				if net.in.Depot == nil || q != *net.in.Depot {
					tour = append(tour, net.anchorAt(q, -1))
				}
			}
		}
		tour = slices.CompactFunc(tour, func(a, b anchor) bool { return a.pos == b.pos })
		tour = slices.DeleteFunc(tour, func(a anchor) bool { return !net.air.allowed(a.pos) })
		if len(tour) > 0 && len(r.tours) < net.in.Vehicles() {
			r.tours = append(r.tours, tour)
		}
	}
	return r
}

// anchorNear is an anchor at p or, in the Buffer model, at the node nearest to it.
func (net *network) anchorNear(p Point) anchor {
	if net.in.Upload == Listen {
		return net.anchorAt(p, -1)
	}
	u := net.index.closest(p, nil)
	if u < 0 {
		return anchor{pos: p, node: -1}
	}
	return net.anchorAt(net.pos[u], u)
}

// reachAll inserts anchors for wanted parts that the route does not hear, moves load off nodes that cost more than in the old plan, and reports
// whether the result keeps the deadline.
func (s *solver) reachAll(r *route, old *Plan) bool {
	if len(r.tours) == 0 || s.net.len() == 0 {
		return false
	}
	if s.eval.rerun(r, old.Parent, old.MaxLoad, replanPasses) {
		return true
	}
	heard := make([]bool, s.net.parts)
	for _, u := range s.eval.h.hear(r) {
		heard[s.net.part[u]] = true
	}
	for c, members := range s.net.members(s.want) {
		if len(members) == 0 || heard[c] {
			continue
		}
		best := members[0]
		for _, u := range members {
			if d := s.net.toRoute(r, u); d < s.net.toRoute(r, best) {
				best = u
			}
		}
		a, ok := s.net.anchorFor(best)
		if !ok {
			return false
		}
		r.insert(a)
	}
	for k := range r.tours {
		s.net.slide(r.tours[k], 2)
	}
	return s.eval.rerun(r, old.Parent, old.MaxLoad, replanPasses)
}

// toRoute is the distance from a node to the nearest anchor.
func (net *network) toRoute(r *route, u int32) float64 {
	least := maxCoordinate * 4.0
	for _, t := range r.tours {
		for i := range t {
			least = min(least, net.pos[u].Dist(t[i].pos))
		}
	}
	return least
}
