package field

import (
	"cmp"
	"slices"
)

// triedStatic is the largest number of places at which a static sink is tried: every node of a small field.
const triedStatic = 300

// bestStatic is the sink that waits at one place in each unconnected part. The places of the skeleton are the nearest ones, which
// need not be good ones to wait at: each in turn moves to where the largest load is least, among those the deadline allows.
func (r *rival) bestStatic() error {
	r.route()
	least, _ := r.eval.f.worst()
	r.routed = len(r.eval.f.order)
	members := r.net.members(r.want)
	parts := len(r.cur.anchors())
	for tour := range r.cur.tours {
		for place := range r.cur.tours[tour] {
			part := r.net.part[r.cur.tours[tour][place].keep[0]]
			for _, u := range r.placesToWait(part, members[part], max(triedStatic/parts, 3)) {
				if err := r.ctx.Err(); err != nil {
					return err
				}
				least = r.waitAt(tour, place, u, least)
			}
		}
	}
	return nil
}

// placesToWait are nodes of a part at which the sink may wait, at most about limit: its median first, then the nodes nearest to
// the median within the deadline's reach of the depot, and others spread over the part.
func (r *rival) placesToWait(part int32, members []int32, limit int) []int32 {
	if len(members) <= limit {
		return members
	}
	median := r.net.pos[r.solver.roots[part]]
	near := slices.Clone(members)
	slices.SortStableFunc(near, func(a, b int32) int {
		return cmp.Compare(median.Dist(r.net.pos[a]), median.Dist(r.net.pos[b]))
	})
	if depot := r.net.depot(); depot != nil {
		radius := r.net.allowance(r.net.dwell(r.packets())) / 2
		near = slices.DeleteFunc(near, func(u int32) bool { return depot.pos.Dist(r.net.pos[u]) > radius })
	}
	list := slices.Clone(near[:min(len(near), limit/3)])
	for step, i := max(len(near)/(limit-limit/3), 1), len(list); i < len(near); i += step {
		list = append(list, near[i])
	}
	return list
}

// waitAt moves the stop at a place of a tour to node u when the deadline allows, nobody loses the way to a stop and the largest load
// falls below least; it returns the largest load.
func (r *rival) waitAt(tour, place int, u int32, least float64) float64 {
	a, ok := r.net.anchorFor(u)
	if !ok {
		return least
	}
	old := r.cur
	moved := old.clone()
	moved.tours[tour][place] = a
	if !r.fit(&moved) {
		return least
	}
	r.cur = moved
	r.route()
	if load, _ := r.eval.f.worst(); load < least && len(r.eval.f.order) >= r.routed && r.eval.timely(&r.cur) {
		return load
	}
	r.cur = old
	return least
}
