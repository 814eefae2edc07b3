package field

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// wanted marks the connected parts that produce packets and so must be visited.
func (net *network) wanted() []bool {
	want := make([]bool, net.parts)
	for u, c := range net.part {
		if net.weight[u] > 0 {
			want[c] = true
		}
	}
	return want
}

// spot is a place outside the no-fly zones where the sink can collect from node u: its own position or, when
// that is forbidden and the sink listens, the nearest point of a zone's edge within reach.
func (net *network) spot(u int32) (Point, bool) {
	p := net.pos[u]
	if net.air.allowed(p) {
		return p, true
	}
	if net.in.Upload == Buffer {
		return p, false
	}
	best, found := math.Inf(1), false
	var at Point
	for _, z := range net.air.zones {
		for i, a := range z.ring {
			q := nearest(p, a, z.ring[(i+1)%len(z.ring)])
			if d := p.Dist(q); d < best && net.hears(q, u) && net.air.allowed(q) {
				best, at, found = d, q, true
			}
		}
	}
	return at, found
}

// anchorFor is an anchor that hears node u and keeps it; ok is false when there is none.
func (net *network) anchorFor(u int32) (a anchor, ok bool) {
	p, ok := net.spot(u)
	if !ok {
		return a, false
	}
	node := int32(-1)
	if net.in.Upload == Buffer {
		node = u
	}
	a = net.anchorAt(p, node)
	a.keep = []int32{u}
	return a, true
}

// skeleton is the cheapest route known that visits every wanted part: a travelling-salesman tour through groups, from several
// choices of representatives. It also returns the wanted parts for which no stop is allowed.
func (net *network) skeleton(want []bool, roots []int32, rng *rand.Rand) (r route, shut []int32) {
	members := net.members(want)
	var open []int32
	for c := range members {
		if len(members[c]) == 0 {
			continue
		}
		if _, ok := net.firstRep(roots[c], members[c]); ok {
			open = append(open, int32(c))
		} else {
			shut = append(shut, int32(c))
		}
	}
	choices := []func(c int32) int32{func(c int32) int32 { return roots[c] }}
	if len(open) > 1 {
		choices = append(choices, func(c int32) int32 { return net.border(c, members[c], rng) })
		for range skeletonTries(len(open), net.len()) {
			choices = append(choices, func(c int32) int32 { return members[c][rng.IntN(len(members[c]))] })
		}
	}
	best := math.Inf(1)
	for _, choose := range choices {
		var reps []anchor
		for _, c := range open {
			rep, _ := net.firstRep(choose(c), members[c])
			reps = append(reps, rep)
		}
		tried := net.refine(reps, members, rng)
		if cost := tried.cost(); cost < best || r.net == nil {
			r, best = tried, cost
		}
	}
	return r, shut
}

// skeletonTries is how often random representatives are tried: less often where that is dear.
func skeletonTries(parts, nodes int) int {
	return min(16, 200/parts, 200_000/nodes)
}

// border is the member of a part that is nearest to another part, among a sample of members.
func (net *network) border(c int32, members []int32, rng *rand.Rand) int32 {
	const sample = 500
	best, least := members[0], math.Inf(1)
	for k := range min(len(members), sample) {
		u := members[k]
		if len(members) > sample {
			u = members[rng.IntN(len(members))]
		}
		v := net.index.closest(net.pos[u], func(i int32) bool { return net.part[i] != c })
		if v < 0 {
			break
		}
		if d := net.pos[u].Dist(net.pos[v]); d < least {
			best, least = u, d
		}
	}
	return best
}

// refine tours the representatives and chooses them anew beside their neighbours in the tour until it no longer shrinks.
func (net *network) refine(reps []anchor, members [][]int32, rng *rand.Rand) route {
	r := net.deal(reps, kicksFor(len(reps))/4, rng)
	if len(reps) == 1 && net.in.Depot == nil {
		return r
	}
	for range 6 {
		before := r.cost()
		for _, tour := range r.tours {
			net.chooseReps(tour, members)
			net.slide(tour, 10)
		}
		next := net.deal(r.anchors(), kicksFor(len(reps))/4, rng)
		if next.cost() < r.cost() {
			r = next
		}
		if r.cost() > before-1e-6 {
			break
		}
	}
	return r
}

// members lists the nodes of each wanted part.
func (net *network) members(want []bool) [][]int32 {
	list := make([][]int32, net.parts)
	for u, c := range net.part {
		if want[c] {
			list[c] = append(list[c], int32(u))
		}
	}
	return list
}

// firstRep anchors a part at its root or, when that may not be visited, at the allowed member next to it.
func (net *network) firstRep(root int32, members []int32) (anchor, bool) {
	if rep, ok := net.anchorFor(root); ok {
		return rep, true
	}
	byDistance := slices.Clone(members)
	slices.SortFunc(byDistance, func(a, b int32) int {
		return cmp.Or(cmp.Compare(net.pos[root].Dist(net.pos[a]), net.pos[root].Dist(net.pos[b])), cmp.Compare(a, b))
	})
	for _, u := range byDistance {
		if rep, ok := net.anchorFor(u); ok {
			return rep, true
		}
	}
	return anchor{}, false
}

// chooseReps replaces each anchor of a skeleton by the member of its part that is cheapest between its neighbours.
func (net *network) chooseReps(tour []anchor, members [][]int32) {
	depot := net.depot()
	for i := range tour {
		before, after := neighboursOf(tour, depot, i)
		if before == &tour[i] {
			continue
		}
		best, bestD := tour[i].keep[0], math.Inf(1)
		for _, u := range members[net.part[best]] {
			if d := net.pos[u].Dist(before.pos) + net.pos[u].Dist(after.pos); d < bestD && net.air.allowed(net.pos[u]) {
				best, bestD = u, d
			}
		}
		rep, ok := net.anchorFor(best)
		if ok && net.leg(before, &rep)+net.leg(&rep, after) < net.leg(before, &tour[i])+net.leg(&tour[i], after) {
			tour[i] = rep
		}
	}
}
