package field

// slide moves the anchors of a tour, each in turn, inside the discs that still reach the nodes that it must
// keep, towards the line between its neighbours, as long as that shortens the tour
// (the neighbourhood step of a travelling-salesman tour with discs).
func (net *network) slide(tour []anchor, sweeps int) {
	if net.in.Upload == Buffer || len(tour) < 2 && net.in.Depot == nil {
		return
	}
	depot := net.depot()
	for range sweeps {
		gain := 0.0
		for i := range tour {
			before, after := neighboursOf(tour, depot, i)
			gain += net.slideOne(&tour[i], before, after)
		}
		if gain < 1e-3*net.reach {
			break
		}
	}
}

// slideOne tries the nearest point of the line between the neighbours, its middle and the neighbours
// themselves as goals and goes towards the best as far as it may.
func (net *network) slideOne(a, before, after *anchor) (gain float64) {
	old := net.leg(before, a) + net.leg(a, after)
	best, bestCost := *a, old-1e-6
	goals := [4]Point{nearest(a.pos, before.pos, after.pos), along(before.pos, after.pos, 0.5), before.pos, after.pos}
	for _, goal := range goals {
		t := net.freedom(a, goal)
		if t <= 0 {
			continue
		}
		c := net.anchorAt(along(a.pos, goal, t), -1)
		if cost := net.leg(before, &c) + net.leg(&c, after); cost < bestCost && net.keeps(c.pos, a.keep) {
			c.keep, c.use = a.keep, a.use
			best, bestCost = c, cost
		}
	}
	*a = best
	return old - (bestCost + 1e-6)
}

// freedom is how far, as a part of the way, an anchor may go towards goal within reach of what it keeps.
func (net *network) freedom(a *anchor, goal Point) float64 {
	t := 1.0
	for _, u := range a.keep {
		lo, hi, ok := chord(net.pos[u], a.pos, goal, net.reach*(1-1e-9))
		if !ok || lo > 0 {
			return 0
		}
		t = min(t, hi)
	}
	return t
}

// keeps reports whether a sink may wait at p and hears all of the nodes there.
func (net *network) keeps(p Point, nodes []int32) bool {
	if !net.air.allowed(p) {
		return false
	}
	for _, u := range nodes {
		if !net.hears(p, u) {
			return false
		}
	}
	return true
}
