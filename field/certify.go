package field

import (
	"context"
	"math"
)

// certify bounds the maximal load of every plan that serves the wanted parts. It looks for a bound up to the load
// that is known to be possible.
func (s *solver) certify(ctx context.Context, known float64) Certificate {
	net := s.net
	weight := make([]float64, net.len())
	c := Certificate{Source: "own packets"}
	for u, w := range net.weight {
		if s.want[net.part[u]] {
			weight[u] = w
			c.Bound = max(c.Bound, w*net.scale[u])
		}
	}
	length := s.driveLimit()
	unit := loadUnit(net)
	if b := roundUp(bestFlowBound(ctx, net, weight, length), unit); b > c.Bound {
		c.Bound, c.Source = b, "flow"
	}
	if b := s.cutBound(ctx, weight, length, c.Bound, known, unit); b > c.Bound {
		c.Bound, c.Source = b, "cut"
	}
	return c
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

// cutBound bisects for the largest load that cuts exclude, between a bound and a load known to be possible.
func (s *solver) cutBound(ctx context.Context, weight []float64, length, low, high, unit float64) float64 {
	c := newCuts(s.net, weight, s.cutRoots())
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
