package field

import (
	"context"
	"math"
)

// flowBound bounds the maximal load B from below for every plan of the instance, by linear-programming duality.
//
// Relaxation: let z_u be 1 when some tour comes within reach r of node u, else 0. In every plan node u sends at most B
// (scaled by its battery) and uploads at most B z_u. A closed tour through a point x0 that is further than R from u
// and comes within r of u crosses the ring r < |x-u| < R at least twice, so with k_u(x) = 1/(2(R-r)) on that ring
//
//	z_u <= integral of k_u along the tours + [number of tours with |x0-u| <= R].
//
// Give node u prices a_u (for what it sends) and b_u (for what it uploads), and let d(i) be the cheapest price of a packet's way
// from i to any upload. Summing all constraints with their prices gives, for tours of total length at most L,
//
//	B >= sum w_i d(i) / ( sum a_u + L max_x sum b_u k_u(x) + sum over tours of max_x0 sum {b_u : |x0-u| <= R} ).
//
// Every choice of prices gives a valid bound; good ones are found by exponentiated supergradient steps.
// The maxima over the plane are taken over square cells, each charged with every ring that touches it.
type flowBound struct {
	net    *network
	weight []float64 // packets of wanted parts, else 0
	length float64   // metres that all tours may drive together
	tours  float64
	r, big float64 // reach and R
	origin Point
	cell   float64
	w, h   int
	ring   []float64 // per cell: sum of b_u over the rings that touch it; rows of w+1
	disc   []float64 // the same for the discs of radius R
	a, b   []float64
	d      []float64
	via    []int32 // where a packet at the node goes next, -1 when it is uploaded
	order  []int32
	queue  frontier
	sent   []float64 // gradient: scaled transmissions and uploads of the cheapest ways
	up     []float64
	heard  []float64 // gradient: how much of z_u the costliest tour gives
}

// bestFlowBound is the best bound found: several ring widths with equal prices, then the best width with prices improved.
func bestFlowBound(ctx context.Context, net *network, weight []float64, length float64) float64 {
	unit := max(net.reach, net.spacing())
	widths := []float64{0.5, 1, 2}
	if length <= 0 {
		widths = []float64{1e-6}
	}
	var best *flowBound
	bound := 0.0
	for _, width := range widths {
		f := newFlowBound(net, weight, max(length, 0), width*unit)
		if b := f.uniform(); best == nil || b > bound {
			best, bound = f, b
		}
	}
	if length > 0 {
		bound = max(bound, best.climb(ctx, flowSteps(net.len())))
	}
	return bound * (1 - 1e-9)
}

// flowSteps is how often the prices are changed: less for large networks.
func flowSteps(n int) int { return min(100_000/(n+1), 60) }

// spacing is the typical distance between nodes in metres.
func (net *network) spacing() float64 {
	b := boxOf(net.pos)
	area := (b.max.X - b.min.X) * (b.max.Y - b.min.Y)
	return max(math.Sqrt(area/float64(max(net.len(), 1))), 1e-3)
}

func newFlowBound(net *network, weight []float64, length, width float64) *flowBound {
	n := net.len()
	f := &flowBound{net: net, weight: weight, length: length, tours: float64(net.in.Vehicles()), r: net.reach, big: net.reach + width,
		a: make([]float64, n), b: make([]float64, n), d: make([]float64, n), via: make([]int32, n),
		sent: make([]float64, n), up: make([]float64, n), heard: make([]float64, n)}
	const cells = 12 // per ring width
	box := boxOf(net.pos)
	f.cell = max(width/cells, f.big/60)
	f.origin = Point{box.min.X - f.big - 2*f.cell, box.min.Y - f.big - 2*f.cell}
	wide, high := box.max.X+f.big-f.origin.X, box.max.Y+f.big-f.origin.Y
	most := 3e5 // cells
	if length > 0 {
		most = min(max(100*float64(n), 2e4), most) // these are gone through again and again
	}
	for (wide/f.cell+3)*(high/f.cell+3) > most {
		f.cell *= 1.3
		f.origin = Point{box.min.X - f.big - 2*f.cell, box.min.Y - f.big - 2*f.cell}
		wide, high = box.max.X+f.big-f.origin.X, box.max.Y+f.big-f.origin.Y
	}
	f.w, f.h = int(wide/f.cell)+3, int(high/f.cell)+3
	f.ring, f.disc = make([]float64, (f.w+1)*f.h), make([]float64, (f.w+1)*f.h)
	for u := range n {
		f.b[u] = 1 / net.scale[u]
	}
	return f
}

// climb changes the prices and returns the best bound seen.
func (f *flowBound) climb(ctx context.Context, steps int) float64 {
	best := 0.0
	for u := range f.a { // a little of each price on sending, so that it can grow
		f.a[u], f.b[u] = 0.05*f.b[u], 0.95*f.b[u]
	}
	for step := range steps {
		if ctx.Err() != nil {
			break
		}
		f.cheapestWays()
		num := 0.0
		for u, w := range f.weight {
			num += w * f.d[u]
		}
		den := f.charge(true)
		if den <= 0 || num <= 0 {
			break
		}
		bound := num / den
		best = max(best, bound)
		f.shiftPrices(bound, 0.7/math.Sqrt(1+float64(step)/4))
	}
	return best
}

// uniform is the bound with nothing on sending and equal prices on uploads: as many nodes must be heard as it takes to send everything.
func (f *flowBound) uniform() float64 {
	num := 0.0
	for _, w := range f.weight {
		num += w
	}
	if num == 0 {
		return 0
	}
	return num / f.charge(false)
}

// cheapestWays fills d and via by Dijkstra's search from the uploads.
func (f *flowBound) cheapestWays() {
	g, scale := f.net.graph, f.net.scale
	f.queue, f.order = f.queue[:0], f.order[:0]
	for u := range f.d {
		f.d[u], f.via[u] = scale[u]*(f.a[u]+f.b[u]), -1
		f.queue.push(nodeAt{f.d[u], int32(u)})
	}
	for len(f.queue) > 0 {
		top := f.queue.pop()
		v := top.node
		if top.at > f.d[v] {
			continue
		}
		f.order = append(f.order, v)
		for k := g.start[v]; k < g.start[v+1]; k++ {
			u := g.adj[k]
			if d := f.d[v] + scale[u]*f.a[u]*g.at(k); d < f.d[u]*(1-1e-12) {
				f.d[u], f.via[u] = d, v
				f.queue.push(nodeAt{d, u})
			}
		}
	}
	f.carry()
}

// carry routes all packets along the cheapest ways.
func (f *flowBound) carry() {
	copy(f.sent, f.weight)
	clear(f.up)
	for i := len(f.order) - 1; i >= 0; i-- {
		u := f.order[i]
		packets, etx := f.sent[u], 1.0
		if v := f.via[u]; v >= 0 {
			f.sent[v] += packets
			etx = f.net.linkETX(u, v)
		} else {
			f.up[u] = packets * f.net.scale[u]
		}
		f.sent[u] = packets * etx * f.net.scale[u]
	}
}

// linkETX is the ETX of the link between two nodes.
func (net *network) linkETX(u, v int32) float64 {
	if net.graph.etx == nil {
		return 1
	}
	return net.graph.ETX(int(u), int(v))
}

// charge is the denominator of the bound; with gradient it also fills heard.
func (f *flowBound) charge(gradient bool) float64 {
	f.stamp()
	sum := 0.0
	for _, a := range f.a {
		sum += a
	}
	price := f.length / (2 * (f.big - f.r))
	ringMax, discMax := f.integrate(f.ring), 0.0
	switch {
	case f.net.in.Depot != nil:
		for u, p := range f.net.pos {
			if p.Dist(*f.net.in.Depot) <= f.big {
				discMax += f.b[u]
			}
		}
	case f.length == 0 && f.r == 0:
		discMax = f.samePlace()
	default:
		discMax = f.integrate(f.disc)
	}
	if gradient {
		f.soften(f.ring, ringMax)
		if f.net.in.Depot == nil {
			f.soften(f.disc, discMax)
		}
		f.respond(price)
	}
	return sum + price*ringMax + f.tours*discMax
}

// samePlace is the largest sum of upload prices at one place: what a sink that stays there can collect in the Buffer model.
func (f *flowBound) samePlace() float64 {
	sum, most := make(map[Point]float64, len(f.b)), 0.0
	for u, p := range f.net.pos {
		sum[p] += f.b[u]
		most = max(most, sum[p])
	}
	return most
}

// spans calls add for each row of cells that touches the ring (or disc, when inner is 0) around p, with the run's
// first column, the column after its last, and the row's offset in the tables.
func (f *flowBound) spans(p Point, inner, outer float64, add func(row, from, to int)) {
	half := f.cell * math.Sqrt2 / 2 * (1 + 1e-9)
	outer, inner = outer+half, inner-half
	y0 := max(int((p.Y-outer-f.origin.Y)/f.cell), 0)
	y1 := min(int((p.Y+outer-f.origin.Y)/f.cell)+1, f.h-1)
	for y := y0; y <= y1; y++ {
		dy := f.origin.Y + (float64(y)+0.5)*f.cell - p.Y
		if dy < -outer || dy > outer {
			continue
		}
		long := math.Sqrt(outer*outer - dy*dy)
		x0, x1 := f.columns(p.X-long, p.X+long)
		row := y * (f.w + 1)
		if inner <= 0 || dy <= -inner || dy >= inner {
			add(row, x0, x1)
			continue
		}
		short := math.Sqrt(inner*inner - dy*dy)
		add(row, x0, min(f.column(p.X-short)+1, x1))
		add(row, max(f.column(p.X+short), x0), x1)
	}
}

// column is the column whose centre is the last at or left of x.
func (f *flowBound) column(x float64) int {
	return min(max(int(math.Floor((x-f.origin.X)/f.cell-0.5)), 0), f.w-1)
}

// columns are those with centres between two coordinates, one more on each side for rounding.
func (f *flowBound) columns(from, to float64) (first, end int) {
	return f.column(from), min(f.column(to)+2, f.w)
}

// stamp adds the upload prices to the cells of rings and discs, as differences along rows.
func (f *flowBound) stamp() {
	clear(f.ring)
	clear(f.disc)
	for u, p := range f.net.pos {
		b := f.b[u]
		f.spans(p, f.r, f.big, func(row, from, to int) {
			f.ring[row+from] += b
			f.ring[row+to] -= b
		})
		if f.net.in.Depot == nil {
			f.spans(p, 0, f.big, func(row, from, to int) {
				f.disc[row+from] += b
				f.disc[row+to] -= b
			})
		}
	}
}

// integrate turns differences into sums and returns the largest, a little more for rounding.
func (f *flowBound) integrate(table []float64) float64 {
	most := 0.0
	for y := range f.h {
		sum := 0.0
		for x := range f.w {
			sum += table[y*(f.w+1)+x]
			table[y*(f.w+1)+x] = sum
			most = max(most, sum)
		}
		table[y*(f.w+1)+f.w] = 0
	}
	return most * (1 + 1e-9)
}

// soften turns a table of sums into a distribution over the cells near its maximum, then into prefix sums along rows.
func (f *flowBound) soften(table []float64, most float64) {
	total := 0.0
	for i, v := range table {
		table[i] = 0
		if v > 0.8*most {
			table[i] = math.Exp(40 * (v/most - 1))
			total += table[i]
		}
	}
	for y := range f.h {
		sum := 0.0
		for x := range f.w + 1 {
			i := y*(f.w+1) + x
			sum, table[i] = sum+table[i]/total, sum
		}
	}
}

// respond fills heard with what tours spread over those cells give each node.
func (f *flowBound) respond(price float64) {
	for u, p := range f.net.pos {
		z := 0.0
		f.spans(p, f.r, f.big, func(row, from, to int) { z += price * (f.ring[row+to] - f.ring[row+from]) })
		if d := f.net.in.Depot; d == nil {
			f.spans(p, 0, f.big, func(row, from, to int) { z += f.tours * (f.disc[row+to] - f.disc[row+from]) })
		} else if p.Dist(*d) <= f.big {
			z += f.tours
		}
		f.heard[u] = z
	}
}

// shiftPrices raises the prices of what is used more than the bound allows and lowers the others.
func (f *flowBound) shiftPrices(bound, step float64) {
	total := 0.0
	for u := range f.a {
		f.a[u] *= math.Exp(step * clip(f.sent[u]/bound-1))
		f.b[u] *= math.Exp(step * clip(f.up[u]/bound-f.heard[u]))
		total += f.a[u] + f.b[u]
	}
	for u := range f.a { // keep them in the range of floating point; the bound does not depend on their scale
		f.a[u] = f.a[u]/total*float64(len(f.a)) + 1e-9
		f.b[u] = f.b[u]/total*float64(len(f.a)) + 1e-9
	}
}

func clip(v float64) float64 { return min(max(v, -1), 1) }
