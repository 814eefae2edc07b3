package field

import (
	"math"
	"slices"
)

// nearest is the point of segment ab that is closest to p.
func nearest(p, a, b Point) Point {
	dx, dy := b.X-a.X, b.Y-a.Y
	long := dx*dx + dy*dy
	if long == 0 {
		return a
	}
	t := ((p.X-a.X)*dx + (p.Y-a.Y)*dy) / long
	return along(a, b, min(max(t, 0), 1))
}

// along is the point that lies the part t of the way from a to b.
func along(a, b Point, t float64) Point { return Point{a.X + t*(b.X-a.X), a.Y + t*(b.Y-a.Y)} }

// chord is the part [lo, hi] of segment ab (as parts of its length) within distance r of p; ok is
// false when there is none.
func chord(p, a, b Point, r float64) (lo, hi float64, ok bool) {
	dx, dy := b.X-a.X, b.Y-a.Y
	fx, fy := a.X-p.X, a.Y-p.Y
	qa, qb, qc := dx*dx+dy*dy, fx*dx+fy*dy, fx*fx+fy*fy-r*r
	if qa == 0 {
		return 0, 0, qc <= 0
	}
	disc := qb*qb - qa*qc
	if disc < 0 {
		return 0, 0, false
	}
	root := math.Sqrt(disc)
	lo, hi = max((-qb-root)/qa, 0), min((-qb+root)/qa, 1)
	return lo, hi, lo <= hi
}

// box is an axis-parallel rectangle.
type box struct{ min, max Point }

func boxOf(points []Point) box {
	b := box{Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}}
	for _, p := range points {
		b.min.X, b.min.Y = min(b.min.X, p.X), min(b.min.Y, p.Y)
		b.max.X, b.max.Y = max(b.max.X, p.X), max(b.max.Y, p.Y)
	}
	return b
}

func (b box) misses(p, q Point) bool {
	return max(p.X, q.X) < b.min.X || min(p.X, q.X) > b.max.X || max(p.Y, q.Y) < b.min.Y || min(p.Y, q.Y) > b.max.Y
}

// polygon is a ring with its bounding box. Its edge does not count as its inside.
type polygon struct {
	ring []Point
	box  box
}

func newPolygon(ring []Point) polygon {
	if len(ring) > 1 && ring[0] == ring[len(ring)-1] {
		ring = ring[:len(ring)-1]
	}
	return polygon{ring, boxOf(ring)}
}

// edgeSlack is the distance in metres from an edge at which a point counts as on it.
const edgeSlack = 1e-6

// contains reports whether p lies strictly inside.
func (g *polygon) contains(p Point) bool {
	if g.box.misses(p, p) {
		return false
	}
	in := false
	for i, a := range g.ring {
		b := g.ring[(i+1)%len(g.ring)]
		if p.Dist(nearest(p, a, b)) <= edgeSlack {
			return false
		}
		if (a.Y > p.Y) != (b.Y > p.Y) && p.X < a.X+(p.Y-a.Y)/(b.Y-a.Y)*(b.X-a.X) {
			in = !in
		}
	}
	return in
}

// crossed reports whether the segment ab passes through the inside: it cuts ab where it meets
// the ring and looks at the middle of each piece. A segment without length crosses nothing.
func (g *polygon) crossed(a, b Point) bool {
	if a == b || g.box.misses(a, b) {
		return false
	}
	var room [16]float64
	cuts := append(room[:0], 0, 1)
	for i, c := range g.ring {
		d := g.ring[(i+1)%len(g.ring)]
		cuts = appendCuts(cuts, a, b, c, d)
	}
	slices.Sort(cuts)
	for i := 1; i < len(cuts); i++ {
		if g.contains(along(a, b, (cuts[i-1]+cuts[i])/2)) {
			return true
		}
	}
	return false
}

// appendCuts appends where segment ab meets segment cd, as parts of ab.
func appendCuts(cuts []float64, a, b, c, d Point) []float64 {
	ux, uy, vx, vy := b.X-a.X, b.Y-a.Y, d.X-c.X, d.Y-c.Y
	wx, wy := c.X-a.X, c.Y-a.Y
	cross := ux*vy - uy*vx
	if math.Abs(cross) > 1e-12*(math.Hypot(ux, uy)*math.Hypot(vx, vy)) {
		t, s := (wx*vy-wy*vx)/cross, (wx*uy-wy*ux)/cross
		if t > 0 && t < 1 && s >= -1e-9 && s <= 1+1e-9 {
			cuts = append(cuts, t)
		}
		return cuts
	}
	long := ux*ux + uy*uy
	if long == 0 {
		return cuts
	}
	for _, p := range [2]Point{c, d} { // parallel: the ends of cd cut ab if they lie on its line
		if t := ((p.X-a.X)*ux + (p.Y-a.Y)*uy) / long; t > 0 && t < 1 {
			cuts = append(cuts, t)
		}
	}
	return cuts
}

// polygonsOf picks the obstacles that keep accepts.
func polygonsOf(list []Obstacle, keep func(Obstacle) bool) []polygon {
	var out []polygon
	for _, o := range list {
		if keep(o) {
			out = append(out, newPolygon(o.Ring))
		}
	}
	return out
}

func anyCrossed(list []polygon, a, b Point) bool {
	for i := range list {
		if list[i].crossed(a, b) {
			return true
		}
	}
	return false
}

func anyContains(list []polygon, p Point) bool {
	for i := range list {
		if list[i].contains(p) {
			return true
		}
	}
	return false
}
