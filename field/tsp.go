package field

import (
	"math"
	"math/rand/v2"
)

// tsp improves a closed tour through cities 0..n-1: 2-opt and Or-opt moves with neighbour lists and
// don't-look bits (Bentley, ORSA J. Computing 1992), then double-bridge kicks of short segments, each repaired
// locally and taken back unless it helped (Johnson and McGeoch, 1997). Every change is a
// reversal of a stretch of the tour, so that a journal of reversals can be undone.
type tsp struct {
	order   []int32 // cities in the order of the visit
	at      []int32 // city -> place in order
	near    []int32 // width nearest cities of each city, nearest first
	width   int
	dist    func(a, b int32) float64
	cap     int // longest stretch that may be reversed
	work    []int32
	waiting []bool
	journal [][2]int32
}

const tspSlack = 1e-9 // metres that a move must gain

// newTSP takes a starting order of all cities of pos and their metric.
func newTSP(pos []Point, order []int32, dist func(a, b int32) float64) *tsp {
	n := len(order)
	t := &tsp{order: order, at: make([]int32, n), dist: dist, waiting: make([]bool, n), width: min(10, n-1), cap: n}
	if n > 100_000 {
		t.cap = 30_000
	}
	for i, c := range order {
		t.at[c] = int32(i)
	}
	t.near = nearestLists(pos, t.width)
	return t
}

// nearestLists returns, flattened, the k nearest other points of each point.
func nearestLists(pos []Point, k int) []int32 {
	n := len(pos)
	out := make([]int32, 0, n*k)
	b := boxOf(pos)
	area := max((b.max.X-b.min.X)*(b.max.Y-b.min.Y), 1e-6)
	cell := max(math.Sqrt(2*area/float64(n)), max(b.max.X-b.min.X, b.max.Y-b.min.Y)/float64(n), 1e-6)
	index := newGrid(pos, cell)
	var found []nodeAt
	for u, p := range pos {
		found = found[:0]
		cx, cy := index.column(p.X), index.row(p.Y)
		for ring := 0; ring <= max(index.w, index.h); ring++ {
			if len(found) >= k && found[k-1].at <= float64(ring-1)*index.cell {
				break
			}
			index.ring(cx, cy, ring, func(i int32) {
				if i != int32(u) {
					found = insertNearest(found, nodeAt{p.Dist(pos[i]), i}, k)
				}
			})
		}
		for _, f := range found {
			out = append(out, f.node)
		}
	}
	return out
}

// insertNearest keeps the k first of list and x, in order.
func insertNearest(list []nodeAt, x nodeAt, k int) []nodeAt {
	if len(list) == k {
		if !x.before(list[k-1]) {
			return list
		}
		list = list[:k-1]
	}
	list = append(list, x)
	for i := len(list) - 1; i > 0 && x.before(list[i-1]); i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
	return list
}

func (t *tsp) next(c int32) int32 {
	if i := int(t.at[c]) + 1; i < len(t.order) {
		return t.order[i]
	}
	return t.order[0]
}

func (t *tsp) prev(c int32) int32 {
	if i := int(t.at[c]) - 1; i >= 0 {
		return t.order[i]
	}
	return t.order[len(t.order)-1]
}

// stretch is the number of places from i to j, both included, going forward.
func (t *tsp) stretch(i, j int32) int {
	n := int(j-i) + 1
	if n <= 0 {
		n += len(t.order)
	}
	return n
}

// reverse turns the places i..j around, or, when that is shorter, all other places: the same closed tour.
func (t *tsp) reverse(i, j int32) {
	n := int32(len(t.order))
	count := t.stretch(i, j)
	if 2*count > int(n) {
		i, j, count = (j+1)%n, (i-1+n)%n, int(n)-count
	}
	for k := count / 2; k > 0; k-- {
		a, b := t.order[i], t.order[j]
		t.order[i], t.order[j] = b, a
		t.at[b], t.at[a] = i, j
		if i++; i == n {
			i = 0
		}
		if j--; j < 0 {
			j = n - 1
		}
	}
}

// swap replaces the edges ab and cd by ac and bd; b follows a as d follows c.
func (t *tsp) swap(a, b, c, d int32) {
	i, j := t.at[b], t.at[c]
	if t.next(a) != b {
		i, j = t.at[a], t.at[d]
	}
	t.journal = append(t.journal, [2]int32{i, j})
	t.reverse(i, j)
}

// short reports whether swap(a, b, c, d) stays below the cap.
func (t *tsp) short(a, b, c, d int32) bool {
	if t.cap >= len(t.order) {
		return true
	}
	n := t.stretch(t.at[b], t.at[c])
	if t.next(a) != b {
		n = t.stretch(t.at[a], t.at[d])
	}
	return min(n, len(t.order)-n) <= t.cap
}

func (t *tsp) wake(cities ...int32) {
	for _, c := range cities {
		if !t.waiting[c] {
			t.waiting[c] = true
			t.work = append(t.work, c)
		}
	}
}

// wakeAll marks every city for work in tour order.
func (t *tsp) wakeAll() {
	for _, c := range t.order {
		t.wake(c)
	}
}

// settle makes moves until no waiting city has one; it returns the metres gained.
func (t *tsp) settle() (gain float64) {
	for len(t.work) > 0 {
		c := t.work[len(t.work)-1]
		t.work = t.work[:len(t.work)-1]
		t.waiting[c] = false
		for {
			g := t.twoOpt(c)
			if g == 0 {
				g = t.orOpt(c)
			}
			if g == 0 {
				break
			}
			gain += g
		}
	}
	return gain
}

// step is next or prev.
func (t *tsp) step(c int32, forward bool) int32 {
	if forward {
		return t.next(c)
	}
	return t.prev(c)
}

// twoOpt makes the first 2-opt move that brings a next to a near city.
func (t *tsp) twoOpt(a int32) float64 {
	for _, forward := range [2]bool{true, false} {
		b := t.step(a, forward)
		ab := t.dist(a, b)
		for _, c := range t.near[int(a)*t.width : (int(a)+1)*t.width] {
			first := ab - t.dist(a, c)
			if first <= tspSlack {
				break
			}
			d := t.step(c, forward)
			if c == b || d == a {
				continue
			}
			if gain := first + t.dist(c, d) - t.dist(b, d); gain > tspSlack && t.short(a, b, c, d) {
				t.swap(a, b, c, d)
				t.wake(a, b, c, d)
				return gain
			}
		}
	}
	return 0
}

// orOpt makes the first move of a segment of up to three cities that begins with a to an edge of a
// near city.
func (t *tsp) orOpt(a int32) float64 {
	for _, forward := range [2]bool{true, false} {
		e := a
		for count := 1; count <= 3 && count+3 <= len(t.order); count++ {
			if count > 1 {
				e = t.step(e, forward)
			}
			if gain := t.moveSegment(a, e, count, forward); gain > 0 {
				return gain
			}
		}
	}
	return 0
}

// moveSegment moves the segment a..e (count cities in the given direction) so that a is beside one of
// its near cities.
func (t *tsp) moveSegment(a, e int32, count int, forward bool) float64 {
	p, nx := t.step(a, !forward), t.step(e, forward)
	free := t.dist(p, a) + t.dist(e, nx) - t.dist(p, nx)
	for _, c := range t.near[int(a)*t.width : (int(a)+1)*t.width] {
		first := free - t.dist(a, c)
		if first <= tspSlack {
			return 0
		}
		if t.inside(c, a, e, count, forward) {
			continue
		}
		if v := t.step(c, forward); c != p { // c a..e v
			if gain := first + t.dist(c, v) - t.dist(e, v); gain > tspSlack && t.short(p, a, c, v) {
				t.insert(p, a, e, nx, c, v, true)
				return gain
			}
		}
		if u := t.step(c, !forward); c != nx { // u e..a c
			if gain := first + t.dist(u, c) - t.dist(e, u); gain > tspSlack && t.short(p, a, u, c) {
				t.insert(p, a, e, nx, u, c, false)
				return gain
			}
		}
	}
	return 0
}

// inside reports whether c is one of the count cities from a to e.
func (t *tsp) inside(c, a, e int32, count int, forward bool) bool {
	if !forward {
		a = e
	}
	off := int(t.at[c] - t.at[a])
	if off < 0 {
		off += len(t.order)
	}
	return off < count
}

// insert takes the segment a..e from between p and nx and puts it between u and v: as u a..e v when
// straight, else as u e..a v.
func (t *tsp) insert(p, a, e, nx, u, v int32, straight bool) {
	t.swap(p, a, u, v)
	if u != nx {
		t.swap(p, u, nx, e)
	}
	if straight && a != e {
		t.swap(u, e, a, v)
	}
	t.wake(p, a, e, nx, u, v)
}

// kick exchanges two neighbouring stretches of up to 50 cities and wakes their ends; it returns the metres lost.
func (t *tsp) kick(rng *rand.Rand) float64 {
	n := len(t.order)
	most := min(50, (n-2)/3)
	i := rng.IntN(n)
	j, k := i+1+rng.IntN(most), 0
	k = j + 1 + rng.IntN(most)
	city := func(place int) int32 { return t.order[place%n] }
	a, b, c, d, e, f := city(i), city(i+1), city(j), city(j+1), city(k), city(k+1)
	lost := t.dist(a, d) + t.dist(e, b) + t.dist(c, f) - t.dist(a, b) - t.dist(c, d) - t.dist(e, f)
	t.swap(a, b, e, f) // a e..d c..b f
	t.swap(a, e, d, c) // a d..e c..b f
	t.swap(e, c, b, f) // a d..e b..c f
	t.wake(a, b, c, d, e, f)
	return lost
}

// iterate kicks the tour the given number of times and keeps what helps.
func (t *tsp) iterate(kicks int, rng *rand.Rand) {
	if len(t.order) < 8 {
		return
	}
	for range kicks {
		t.journal = t.journal[:0]
		lost := t.kick(rng)
		if t.settle() >= lost {
			continue
		}
		for k := len(t.journal) - 1; k >= 0; k-- {
			t.reverse(t.journal[k][0], t.journal[k][1])
		}
	}
}

// optimise improves the tour with a number of kicks that suits its size.
func (t *tsp) optimise(kicks int, rng *rand.Rand) {
	if len(t.order) < 4 {
		return
	}
	t.wakeAll()
	t.settle()
	t.iterate(kicks, rng)
}

// length is the tour's length.
func (t *tsp) length() float64 {
	sum := 0.0
	for i, c := range t.order {
		sum += t.dist(c, t.order[(i+1)%len(t.order)])
	}
	return sum
}
