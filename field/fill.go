package field

import "math"

// rowStride is the distance between stops on the way, in reaches: closer ones hear little that is new, wider ones leave gaps.
const rowStride = 1.5

// fill adds stops along the legs of a route where they hear somebody new. Where stops cost time, but the way between two of them is driven
// anyway, those on that way cost nothing but their own time.
func (s *seeder) fill(r *route) {
	clear(s.cover)
	for _, t := range r.tours {
		for i := range t {
			s.mark(&t[i], nil)
		}
	}
	depot := s.net.depot()
	for k, t := range r.tours {
		full := make([]anchor, 0, 2*len(t))
		for i := range t {
			before, after := neighboursOf(t, depot, i)
			if before == depot && depot != nil {
				full = s.fillLeg(full, before, &t[i])
			}
			full = append(full, t[i])
			full = s.fillLeg(full, &t[i], after)
		}
		r.tours[k] = full
	}
}

// fillLeg appends the stops between two anchors. A leg that leads around a no-fly zone gets none.
func (s *seeder) fillLeg(list []anchor, a, b *anchor) []anchor {
	length := a.pos.Dist(b.pos)
	pieces := math.Round(length / (rowStride * s.net.reach))
	if pieces < 2 || s.net.air.dist(a.pos, b.pos) > length*(1+1e-9) {
		return list
	}
	for k := 1.0; k < pieces; k++ {
		p := along(a.pos, b.pos, k/pieces)
		if !s.net.air.allowed(p) || !s.hearsMore(p) {
			continue
		}
		stop := s.net.anchorAt(p, -1)
		s.mark(&stop, nil)
		list = append(list, stop)
	}
	return list
}

// hearsMore reports whether a sink at p hears a node that produces packets and that no stop hears yet.
func (s *seeder) hearsMore(p Point) (more bool) {
	s.net.index.near(p, s.net.reach, func(v int32) bool {
		more = !s.cover[v] && s.net.weight[v] > 0 && (len(s.net.shields) == 0 || s.net.hears(p, v))
		return !more
	})
	return more
}
