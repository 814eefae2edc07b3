package field

import (
	"context"
	"math"
)

// certify bounds the maximal load of every plan that serves the wanted parts. It looks for a bound up to the load
// that is known to be possible.
func (s *solver) certify(ctx context.Context, known float64) Certificate {
	c, unit := s.ownPackets(), loadUnit(s.net)
	if b := roundUp(bestFlowBound(ctx, s.net, s.wantedWeight(), s.driveLimit()), unit); b > c.Bound {
		c.Bound, c.Source = b, "flow"
	}
	if b := s.cutBound(ctx, s.driveLimit(), c.Bound-unit, known, unit); b > c.Bound {
		c.Bound, c.Source = b, "cut"
	}
	return c
}

// withRouting adds the bound on routings to the sources that the evaluator heard last.
func (s *solver) withRouting(c Certificate) Certificate {
	if s.net.len() <= mostRouted {
		c.Routing = roundUp(routingBound(s.net, s.wantedWeight(), s.eval.h.sources), loadUnit(s.net))
	}
	return c
}

// ownPackets is the bound that follows from every sensor sending at least its own packets once.
func (s *solver) ownPackets() Certificate {
	c := Certificate{Source: "own packets"}
	for u, w := range s.wantedWeight() {
		c.Bound = max(c.Bound, w*s.net.scale[u])
	}
	return c
}

// wantedWeight is the packets of each node in wanted parts, else 0.
func (s *solver) wantedWeight() []float64 {
	weight := make([]float64, s.net.len())
	for u, w := range s.net.weight {
		if s.want[s.net.part[u]] {
			weight[u] = w
		}
	}
	return weight
}

// roundUp raises a bound to the next load that is possible.
func roundUp(b, unit float64) float64 {
	if unit == 0 {
		return b
	}
	return math.Ceil(b/unit-1e-6) * unit
}

// driveLimit is the length in metres that all tours may have together; the dwell counts against it when there is one tour.
func (s *solver) driveLimit() float64 {
	sink := s.net.in.Sink
	if s.net.in.Vehicles() == 1 {
		return max((sink.Deadline.Seconds()-sink.Launch.Seconds()-s.net.dwell(s.packets()))*sink.Speed, 0)
	}
	return max((sink.Deadline.Seconds()-sink.Launch.Seconds())*sink.Speed*float64(s.net.in.Vehicles()), 0)
}

// cutBound bisects for the largest load that cuts exclude, between one that is known to be impossible, or the least of those that are not,
// and one known to be possible.
func (s *solver) cutBound(ctx context.Context, length, low, high, unit float64) float64 {
	c := newCuts(s.net, s.wantedWeight(), s.cutRoots())
	steps := 12
	if s.net.len() > 200_000 {
		steps = 4
	}
	best := 0.0
	for range steps {
		if ctx.Err() != nil || high-low <= max(unit, 0.005*high) {
			break
		}
		mid := (low + high) / 2
		if unit > 0 {
			mid = math.Floor(mid)
		}
		if c.excludes(mid, length) {
			low, best = mid, mid
			if unit > 0 {
				best = mid + unit
			}
		} else {
			high = mid
		}
	}
	return best
}

func (s *solver) cutRoots() []int32 {
	var roots []int32
	for c, u := range s.roots {
		if s.want[c] {
			roots = append(roots, u)
		}
	}
	return roots
}
