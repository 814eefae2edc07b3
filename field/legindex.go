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

// nearest is the leg whose nearest point to p is closest and accepted, and that point, among legs with a sample within two
// steps of p.
func (x *legIndex) nearest(p Point, accept func(q Point) bool) (leg int, at Point) {
	least := math.Inf(1)
	x.points.near(p, 2*x.step, func(i int32) bool {
		ends := x.legs[x.owner[i]]
		q := nearest(p, ends[0], ends[1])
		if d := p.Dist(q); d < least && accept(q) {
			leg, at, least = int(x.owner[i]), q, d
		}
		return true
	})
	return leg, at
}
