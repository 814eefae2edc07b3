package field

import "math"

// legIndex finds the leg nearest to a point: legs are sampled at steps of about one reach.
type legIndex struct {
	legs   [][2]Point
	points *grid
	owner  []int32
	step   float64
}

func newLegIndex(legs [][2]Point, reach float64) *legIndex {
	x := &legIndex{legs: legs, step: max(reach, 1e-3)}
	var pos []Point
	for i, leg := range legs {
		pieces := int(min(leg[0].Dist(leg[1])/x.step, 1e6)) + 1
		for k := 0; k <= pieces; k++ {
			pos = append(pos, along(leg[0], leg[1], float64(k)/float64(pieces)))
			x.owner = append(x.owner, int32(i))
		}
	}
	x.points = newGrid(pos, x.step)
	return x
}

// nearest is the leg closest to p, among legs with a sample within two steps of it.
func (x *legIndex) nearest(p Point) int {
	best, least := 0, math.Inf(1)
	x.points.near(p, 2*x.step, func(i int32) bool {
		leg := x.legs[x.owner[i]]
		if d := p.Dist(nearest(p, leg[0], leg[1])); d < least {
			best, least = int(x.owner[i]), d
		}
		return true
	})
	return best
}
