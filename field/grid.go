package field

import "math"

// grid finds points near a place: square cells, the points of a cell next to each other.
type grid struct {
	pos   []Point
	box   box
	cell  float64
	w, h  int
	start []int32 // per cell, into items; one more at the end
	items []int32
}

// maxCells bounds a grid's cells per point, so that a few far-off points cannot cost much memory.
const maxCells = 4

// newGrid indexes pos with cells of about the given size in metres.
func newGrid(pos []Point, cell float64) *grid {
	g := &grid{pos: pos, box: boxOf(pos), cell: cell}
	if len(pos) == 0 {
		g.box, g.cell, g.w, g.h, g.start = box{}, 1, 1, 1, make([]int32, 2)
		return g
	}
	width, height := g.box.max.X-g.box.min.X, g.box.max.Y-g.box.min.Y
	if !(cell > 0) || math.IsInf(cell, 0) {
		g.cell = max(width, height, 1)
	}
	for (math.Floor(width/g.cell)+1)*(math.Floor(height/g.cell)+1) > float64(maxCells*len(pos)+16) {
		g.cell *= 1.5
	}
	g.w, g.h = int(width/g.cell)+1, int(height/g.cell)+1
	g.start = make([]int32, g.w*g.h+1)
	for _, p := range pos {
		g.start[g.of(p)+1]++
	}
	for c := 1; c < len(g.start); c++ {
		g.start[c] += g.start[c-1]
	}
	g.items = make([]int32, len(pos))
	fill := make([]int32, g.w*g.h)
	for i, p := range pos {
		c := g.of(p)
		g.items[g.start[c]+fill[c]] = int32(i)
		fill[c]++
	}
	return g
}

func (g *grid) column(x float64) int {
	return int(min(max((x-g.box.min.X)/g.cell, 0), float64(g.w-1)))
}

func (g *grid) row(y float64) int {
	return int(min(max((y-g.box.min.Y)/g.cell, 0), float64(g.h-1)))
}

func (g *grid) of(p Point) int { return g.row(p.Y)*g.w + g.column(p.X) }

// near calls f with each point within r of p, in a fixed order, until f returns false.
func (g *grid) near(p Point, r float64, f func(i int32) bool) {
	g.corridor(p, p, r, f)
}

// appendNear appends the points within r of p to list, row of cells by row.
func (g *grid) appendNear(list []int32, p Point, r float64) []int32 {
	x0, x1 := g.column(p.X-r), g.column(p.X+r)
	for y := g.row(p.Y - r); y <= g.row(p.Y+r); y++ {
		for _, i := range g.items[g.start[y*g.w+x0]:g.start[y*g.w+x1+1]] {
			if dx, dy := g.pos[i].X-p.X, g.pos[i].Y-p.Y; dx*dx+dy*dy <= r*r {
				list = append(list, i)
			}
		}
	}
	return list
}

// crowded reports whether more than limit ordered pairs of points are within r. It counts points in cells first and
// looks at pairs only when that does not decide.
func (g *grid) crowded(r float64, limit int) bool {
	for _, exact := range [2]bool{false, true} {
		pairs := 0
		for _, p := range g.pos {
			x0, x1 := g.column(p.X-r), g.column(p.X+r)
			for y := g.row(p.Y - r); y <= g.row(p.Y+r); y++ {
				row := g.items[g.start[y*g.w+x0]:g.start[y*g.w+x1+1]]
				if !exact {
					pairs += len(row)
					continue
				}
				for _, i := range row {
					if dx, dy := g.pos[i].X-p.X, g.pos[i].Y-p.Y; dx*dx+dy*dy <= r*r {
						pairs++
					}
				}
			}
			if pairs > limit {
				break
			}
		}
		if pairs <= limit {
			return false
		}
	}
	return true
}

// corridor calls f with each point within r of segment ab, in a fixed order, until f returns false.
func (g *grid) corridor(a, b Point, r float64, f func(i int32) bool) {
	x0, x1 := g.column(min(a.X, b.X)-r), g.column(max(a.X, b.X)+r)
	y0, y1 := g.row(min(a.Y, b.Y)-r), g.row(max(a.Y, b.Y)+r)
	half := g.cell * math.Sqrt2 / 2
	long := x1-x0 > 2 && y1-y0 > 2
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			if long {
				mid := Point{g.box.min.X + (float64(x)+0.5)*g.cell, g.box.min.Y + (float64(y)+0.5)*g.cell}
				if mid.Dist(nearest(mid, a, b)) > r+half {
					continue
				}
			}
			c := y*g.w + x
			for _, i := range g.items[g.start[c]:g.start[c+1]] {
				if q := g.pos[i]; q.Dist(nearest(q, a, b)) <= r && !f(i) {
					return
				}
			}
		}
	}
}

// closest is the point nearest to p for which keep is true (nil keeps all), or -1.
func (g *grid) closest(p Point, keep func(i int32) bool) int32 {
	best, bestD := int32(-1), math.Inf(1)
	cx, cy := g.column(p.X), g.row(p.Y)
	off := p.Dist(Point{min(max(p.X, g.box.min.X), g.box.max.X), min(max(p.Y, g.box.min.Y), g.box.max.Y)})
	for ring := 0; ring <= max(g.w, g.h); ring++ {
		if best >= 0 && bestD < float64(ring-1)*g.cell-off {
			break
		}
		g.ring(cx, cy, ring, func(i int32) {
			if d := p.Dist(g.pos[i]); (d < bestD || d == bestD && i < best) && (keep == nil || keep(i)) {
				best, bestD = i, d
			}
		})
	}
	return best
}

// ring visits the points of the cells at Chebyshev distance k from cell (cx, cy).
func (g *grid) ring(cx, cy, k int, f func(i int32)) {
	for y := max(cy-k, 0); y <= min(cy+k, g.h-1); y++ {
		step := 1
		if y != cy-k && y != cy+k {
			step = max(2*k, 1)
		}
		for x := cx - k; x <= cx+k; x += step {
			if x < 0 || x >= g.w {
				continue
			}
			c := y*g.w + x
			for _, i := range g.items[g.start[c]:g.start[c+1]] {
				f(i)
			}
		}
	}
}
