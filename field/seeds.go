package field

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// seeder makes starting routes from the reference tree.
type seeder struct {
	net   *network
	rng   *rand.Rand
	tree  *forest // one tree per connected part, rooted at its median or beside the skeleton's stop
	keys  []float64
	base  []anchor // the skeleton
	cover []bool
	packs float64 // packets of all wanted parts
	slack float64 // how uneven the division of packets among tours is taken to be: 1 is even
	want  []bool
	rows  bool // add stops on the way
}

// try makes a route through the skeleton and the given nodes; ok tells whether it keeps the deadline.
func (s *seeder) try(nodes []int32) (r route, ok bool) {
	anchors := s.anchors(nodes)
	r = s.net.deal(anchors, min(len(anchors), 1000), s.rng)
	for i := range r.tours {
		s.net.slide(r.tours[i], 6)
	}
	if s.rows {
		s.fill(&r)
	}
	return r, s.fit(&r)
}

// fit checks the deadline; where there are several sinks their shares of the packets are not known yet, but guessed from
// the numbers of anchors.
func (s *seeder) fit(r *route) bool {
	count := 0
	for _, t := range r.tours {
		count += len(t)
	}
	for _, t := range r.tours {
		if !s.net.fits(t, min(s.packs*float64(len(t))/float64(count)*s.slack, s.packs)) {
			return false
		}
	}
	return true
}

// anchors picks anchors for nodes that must be heard: where the sink listens, one anchor beside a parent
// serves the whole neighbourhood, so that nodes that are heard already get none.
func (s *seeder) anchors(nodes []int32) []anchor {
	list := slices.Clone(s.base)
	if s.net.in.Upload == Buffer {
		at := make(map[int32]bool, len(list))
		for i := range list {
			at[list[i].node] = true
		}
		for _, u := range nodes {
			if a, ok := s.net.anchorFor(u); ok && !at[u] {
				list = append(list, a)
			}
		}
		return list
	}
	clear(s.cover)
	for i := range list {
		s.mark(&list[i], nil)
	}
	need := make([]bool, s.net.len())
	for _, u := range nodes {
		need[u] = true
	}
	for _, u := range nodes {
		if s.cover[u] {
			continue
		}
		at := u
		if p := s.tree.parent[u]; p >= 0 && s.net.pos[p].Dist(s.net.pos[u]) <= s.net.reach {
			at = p
		}
		a, ok := s.net.anchorFor(at)
		if !ok || !s.net.hears(a.pos, u) {
			if a, ok = s.net.anchorFor(u); !ok {
				continue
			}
		}
		a.keep = []int32{u}
		s.mark(&a, need)
		list = append(list, a)
	}
	return list
}

// mark notes whom an anchor hears and makes it keep the needed nodes that nothing heard before.
func (s *seeder) mark(a *anchor, need []bool) {
	s.net.index.near(a.pos, s.net.reach, func(v int32) bool {
		if s.cover[v] || len(s.net.shields) > 0 && !s.net.hears(a.pos, v) {
			return true
		}
		s.cover[v] = true
		if need != nil && need[v] && v != a.keep[0] {
			a.keep = append(a.keep, v)
		}
		return true
	})
}

// core is the route of the smallest core that fits. The walk along the tree gives the core to start from; because a tour
// through the same places is shorter, it then gallops over the number of nodes in the core and bisects.
func (s *seeder) core() (route, bool) {
	sorted := slices.Clone(s.tree.order)
	slices.SortStableFunc(sorted, func(a, b int32) int { return cmp.Compare(s.keys[b], s.keys[a]) })
	floor := ownFloor(s.net)
	most := 0
	for most < len(sorted) && s.keys[sorted[most]] > floor {
		most++
	}
	walked := s.walkable(floor)
	start := 0
	for start < most && s.keys[sorted[start]] > walked {
		start++
	}
	return s.largest(start, most, func(k int) []int32 {
		if k == len(sorted) || k == 0 {
			return s.tree.coreNodes(s.keys, floor)
		}
		return s.tree.coreNodes(s.keys, s.keys[sorted[k-1]]*(1-1e-12))
	})
}

// walkable is the smallest B whose core can be walked along the tree in the time that the skeleton leaves.
func (s *seeder) walkable(floor float64) float64 {
	keys, edges := make([]float64, 0, s.net.len()), make([]float64, 0, s.net.len())
	for _, u := range s.tree.order {
		edge := 0.0
		if p := s.tree.parent[u]; p >= 0 {
			edge = s.net.pos[u].Dist(s.net.pos[p])
		}
		keys, edges = append(keys, s.keys[u]), append(edges, edge)
	}
	base := route{net: s.net, tours: [][]anchor{s.base}}
	return smallestCore(keys, edges, floor, s.net.allowance(s.net.dwell(s.packs))-base.cost())
}

// clusters is the route through the most and so smallest clusters that fits.
func (s *seeder) clusters() (route, bool) {
	return s.largest(1, s.net.len(), func(k int) []int32 { return s.tree.clusterTops(s.packs / float64(k+1)) })
}

// hubs is the route through the most positions, spread evenly over the field, that fits.
func (s *seeder) hubs() (route, bool) {
	return s.largest(1, s.net.len(), func(k int) []int32 { return s.net.hubs(k, s.want, s.rng) })
}

// largest finds, by doubling from start and bisection, a large k of at most limit for which the route through nodes(k) fits.
func (s *seeder) largest(start, limit int, nodes func(k int) []int32) (best route, found bool) {
	low, high := 0, limit+1
	for k := max(start, 1); k <= limit; k = min(2*k, max(limit, k+1)) {
		r, ok := s.try(nodes(k))
		if !ok {
			high = k
			break
		}
		best, found, low = r, true, k
	}
	for step := 0; step < 7 && high-low > 1+low/50; step++ {
		mid := (low + high) / 2
		if r, ok := s.try(nodes(mid)); ok {
			best, found, low = r, true, mid
		} else {
			high = mid
		}
	}
	return best, found
}
