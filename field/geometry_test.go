package field

import (
	"math"
	"math/rand/v2"
	"testing"
)

// star is a polygon around a centre with random radii.
func star(rng *rand.Rand, centre Point, most float64) []Point {
	ring := make([]Point, 3+rng.IntN(8))
	for i := range ring {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(len(ring)))
		r := most * (0.3 + 0.7*rng.Float64())
		ring[i] = Point{centre.X + r*cos, centre.Y + r*sin}
	}
	return ring
}

func TestCrossedMatchesSampling(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 31))
		g := newPolygon(star(rng, Point{50, 50}, 40))
		ends := randomPoints(rng, 2, 100)
		inside := func(samples int) bool {
			for i := range samples {
				if g.contains(along(ends[0], ends[1], (float64(i)+0.5)/float64(samples))) {
					return true
				}
			}
			return false
		}
		got := g.crossed(ends[0], ends[1])
		if want := inside(2000) || got && inside(300_000); got != want {
			t.Errorf("seed %d: crossed %v, samples inside %v", seed, got, want)
		}
	}
}

func TestEdgesAndCornersAreNotInside(t *testing.T) {
	g := newPolygon([]Point{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}})
	for _, s := range [][2]Point{{{0, 0}, {10, 0}}, {{-5, 0}, {15, 0}}, {{-5, 5}, {5, -5}}, {{-5, 15}, {5, 5}}, {{0, 0}, {10, 10}}, {{2, 2}, {3, 3}}, {{5, 5}, {5, 5}}} {
		want := s == [2]Point{{-5, 15}, {5, 5}} || s == [2]Point{{0, 0}, {10, 10}} || s == [2]Point{{2, 2}, {3, 3}}
		if got := g.crossed(s[0], s[1]); got != want {
			t.Errorf("%v: crossed %v", s, got)
		}
	}
}

func TestChordEndsLieOnTheCircle(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 32))
		q := randomPoints(rng, 3, 100)
		r := 60 * rng.Float64()
		lo, hi, ok := chord(q[0], q[1], q[2], r)
		near := q[0].Dist(nearest(q[0], q[1], q[2]))
		if ok != (near <= r) {
			t.Fatalf("seed %d: chord %v, nearest point at %g of %g", seed, ok, near, r)
		}
		for _, e := range []float64{lo, hi} {
			d := q[0].Dist(along(q[1], q[2], e))
			if ok && e > 0 && e < 1 && math.Abs(d-r) > 1e-6 || ok && d > r+1e-6 {
				t.Errorf("seed %d: end of the chord at distance %g of %g", seed, d, r)
			}
		}
	}
}

func TestGridFindsWhatAScanFinds(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 33))
		pos := randomPoints(rng, 1+rng.IntN(300), 100)
		if seed%3 == 0 {
			pos = append(pos, Point{1e6, -1e6})
		}
		g := newGrid(pos, 1+30*rng.Float64())
		q, r := randomPoints(rng, 2, 140), 50*rng.Float64()
		found := map[int32]int{}
		g.corridor(q[0], q[1], r, func(i int32) bool { found[i]++; return true })
		near := map[int32]bool{}
		for _, i := range g.appendNear(nil, q[0], r) {
			near[i] = true
		}
		best := 0
		for i, p := range pos {
			if in := p.Dist(nearest(p, q[0], q[1])) <= r; in != (found[int32(i)] == 1) || found[int32(i)] > 1 {
				t.Fatalf("seed %d: point %d within reach of the line is %v, found %d times", seed, i, in, found[int32(i)])
			}
			if in := p.Dist(q[0]) <= r; in != near[int32(i)] {
				t.Fatalf("seed %d: point %d near is %v", seed, i, in)
			}
			if p.Dist(q[1]) < pos[best].Dist(q[1]) {
				best = i
			}
		}
		if c := g.closest(q[1], nil); pos[c].Dist(q[1]) != pos[best].Dist(q[1]) {
			t.Fatalf("seed %d: closest %d, want %d", seed, c, best)
		}
	}
}

// TestDetoursAreShortestWays checks that the way is allowed, alike in both directions, and that no way over random places is shorter.
func TestDetoursAreShortestWays(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 34))
		zones := []Obstacle{{Ring: star(rng, Point{30, 30}, 25), NoFly: true}, {Ring: star(rng, Point{70, 65}, 28), NoFly: true}}
		a, err := newAirspace(zones)
		if err != nil {
			t.Fatal(err)
		}
		q := [2]Point{{2, 3}, {97, 96}}
		path := a.path([]Point{q[0]}, q[0], q[1])
		sum := 0.0
		for i := 1; i < len(path); i++ {
			sum += path[i-1].Dist(path[i])
			if anyCrossed(a.zones, path[i-1], path[i]) {
				t.Fatalf("seed %d: leg %d crosses a zone", seed, i)
			}
		}
		d := a.dist(q[0], q[1])
		if math.Abs(sum-d) > 1e-6 || d < q[0].Dist(q[1])-1e-9 {
			t.Fatalf("seed %d: path of %g m, distance %g", seed, sum, d)
		}
		if other := a.dist(q[1], q[0]); math.Abs(other-d) > 1e-6 {
			t.Fatalf("seed %d: %g there, %g back", seed, d, other)
		}
		for range 200 { // no way over one or two random allowed places is shorter
			via := randomPoints(rng, 2, 100)
			if !anyCrossed(a.zones, q[0], via[0]) && !anyCrossed(a.zones, via[0], q[1]) && q[0].Dist(via[0])+via[0].Dist(q[1]) < d-1e-6 {
				t.Fatalf("seed %d: shorter over %v", seed, via[0])
			}
			if !anyCrossed(a.zones, q[0], via[0]) && !anyCrossed(a.zones, via[0], via[1]) && !anyCrossed(a.zones, via[1], q[1]) &&
				q[0].Dist(via[0])+via[0].Dist(via[1])+via[1].Dist(q[1]) < d-1e-6 {
				t.Fatalf("seed %d: shorter over %v", seed, via)
			}
		}
	}
}
