package field

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bruteBuffer is the optimum of a small instance in the Buffer model: every set of stops whose shortest tour fits, with every
// routing along links.
func bruteBuffer(in *Instance) float64 {
	n := len(in.Sensors)
	g, err := NewGraph(in)
	if err != nil {
		panic(err)
	}
	weight, scale, full := make([]float64, n), make([]float64, n), 0.0
	for i := range weight {
		full = max(full, in.Sensors[i].Energy)
	}
	for i, s := range in.Sensors {
		weight[i], scale[i] = s.Weight, full/s.Energy
	}
	limit := in.Sink.Deadline.Seconds() * in.Sink.Speed
	best := math.Inf(1)
	next := make([]int32, n)
	for set := 1; set < 1<<n; set++ {
		if shortestRound(in, set) <= limit {
			best = min(best, bruteStops(0, set, g, next, weight, scale, best))
		}
	}
	return best
}

func bruteStops(u, set int, g *Graph, next []int32, weight, scale []float64, best float64) float64 {
	if u == len(next) {
		return min(best, routingCost(next, weight, scale))
	}
	if set&(1<<u) != 0 {
		next[u] = ToSink
		return bruteStops(u+1, set, g, next, weight, scale, best)
	}
	for _, v := range g.Neighbors(u) {
		next[u] = v
		best = bruteStops(u+1, set, g, next, weight, scale, best)
	}
	return best
}

// shortestRound is the length of the shortest round through the sensors of a set and the depot.
func shortestRound(in *Instance, set int) float64 {
	var pos []Point
	for i := range in.Sensors {
		if set&(1<<i) != 0 {
			pos = append(pos, in.Sensors[i].Pos)
		}
	}
	if in.Depot != nil {
		pos = append(pos, *in.Depot)
	}
	if len(pos) < 2 {
		return 0
	}
	return exactTour(pos)
}

func TestCertificateNeverExceedsTheOptimum(t *testing.T) {
	seeds := 120
	if testing.Short() {
		seeds = 25
	}
	tight, exact := 0, 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 41))
		in := square(4+rng.IntN(4), 100, 45, 400*rng.Float64(), seed)
		in.Upload = Buffer
		if seed%3 == 0 {
			in.Depot = &Point{50, 50}
		}
		for i := range in.Sensors {
			in.Sensors[i].Weight = float64(1 + rng.IntN(3))
			if seed%5 == 0 {
				in.Sensors[i].Energy = float64(1 + rng.IntN(2))
			}
			if seed%4 == 0 { // a line
				in.Sensors[i].Pos = Point{40 * float64(i), 5 * rng.Float64()}
			}
		}
		want := bruteBuffer(in)
		p, err := Solve(context.Background(), in, Options{Effort: 300})
		if err != nil {
			if !math.IsInf(want, 1) {
				t.Errorf("seed %d: %v, but the optimum is %g", seed, err, want)
			}
			continue
		}
		if p.Certificate.Bound > want || p.MaxLoad < want {
			t.Errorf("seed %d: bound %g (%s), optimum %g, plan %g", seed, p.Certificate.Bound, p.Certificate.Source, want, p.MaxLoad)
		}
		if p.MaxLoad == want {
			exact++
		}
		if p.Certificate.Bound == want {
			tight++
		}
	}
	if exact < seeds/2 || tight < seeds/5 {
		t.Errorf("of %d plans %d are optimal and %d bounds tight", seeds, exact, tight)
	}
}

// TestBoundHoldsForRandomRoutes bounds plans that the planner did not make: a tour that hears every node within reach of
// random stops, with routing by fewest hops.
func TestBoundHoldsForRandomRoutes(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 42))
		in := square(150, 200, 35, 0, seed)
		net, err := newNetwork(in)
		if err != nil {
			t.Fatal(err)
		}
		var stops []anchor
		for range 1 + rng.IntN(12) {
			stops = append(stops, net.anchorAt(net.pos[rng.IntN(net.len())], -1))
		}
		r := net.deal(stops, 100, rng)
		in.Sink.Deadline = seconds(r.cost() + 1e-3)
		s, err := newSolver(net, Options{Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		if !s.eval.run(&r, 0, 8) {
			continue
		}
		load, _ := s.eval.f.worst()
		if c := s.certify(context.Background(), load+5); c.Bound > load {
			t.Errorf("seed %d: bound %g (%s) above a load of %g", seed, c.Bound, c.Source, load)
		}
	}
}

// TestCutBoundIsTightOnLines: in a chain the ends must be visited, and the certificate knows it.
func TestCutBoundIsTightOnLines(t *testing.T) {
	in := square(200, 1, 12, 2*1000, 1)
	for i := range in.Sensors {
		in.Sensors[i].Pos = Point{10 * float64(i), 0}
	}
	p := mustSolve(t, in, Options{Effort: 400})
	if p.Certificate.Source != "cut" || p.Certificate.Gap > 0.1 {
		t.Errorf("largest load %g, bound %g by %s", p.MaxLoad, p.Certificate.Bound, p.Certificate.Source)
	}
}

func TestHeldKarpBoundsTheTour(t *testing.T) {
	for seed := range uint64(40) {
		pos := randomPoints(rand.New(rand.NewPCG(seed, 43)), 2+int(seed%9), 100)
		dist := make([][]float64, len(pos))
		for i := range pos {
			dist[i] = make([]float64, len(pos))
			for j := range pos {
				dist[i][j] = pos[i].Dist(pos[j])
			}
		}
		if got, want := heldKarp(dist), exactTour(pos); got > want+1e-9 || got < 0.9*want {
			t.Errorf("seed %d: bound %g, optimum %g", seed, got, want)
		}
	}
}

func TestPackedSetsAreDisjointAndOverfull(t *testing.T) {
	in := square(300, 300, 25, 0, 44)
	net, err := newNetwork(in)
	if err != nil {
		t.Fatal(err)
	}
	c := newCuts(net, net.weight, medians(net))
	for _, b := range []float64{1, 2, 5} {
		seen := make([]bool, net.len())
		for _, set := range c.packing(b) {
			inside := make([]bool, net.len())
			for _, u := range set {
				if seen[u] {
					t.Fatalf("node %d is in two sets", u)
				}
				seen[u], inside[u] = true, true
			}
			inner, outer := borders(net, inside)
			if float64(len(set)) <= min(b*float64(inner), (b-1)*float64(outer)) {
				t.Errorf("b %g: a set of %d nodes with %d nodes on its border and %d beyond", b, len(set), inner, outer)
			}
		}
	}
}

// borders are the numbers of nodes inside that have a link out, and of nodes outside that have a link in.
func borders(net *network, inside []bool) (inner, outer int) {
	for u := range inside {
		if slices.ContainsFunc(net.graph.Neighbors(u), func(v int32) bool { return inside[v] != inside[u] }) {
			if inside[u] {
				inner++
			} else {
				outer++
			}
		}
	}
	return inner, outer
}

// TestNobodyRelaysAtTheLeastLoad: where each sensor may send its own packet alone, each has to be visited.
func TestNobodyRelaysAtTheLeastLoad(t *testing.T) {
	in := square(100, 1, 11, 0, 1)
	in.Upload = Buffer
	for i := range in.Sensors {
		in.Sensors[i].Pos = Point{10 * float64(i%10), 10 * float64(i/10)}
	}
	net, err := newNetwork(in)
	if err != nil {
		t.Fatal(err)
	}
	c := newCuts(net, net.weight, medians(net))
	if sets := c.packing(1); len(sets) < 40 || len(slices.Concat(sets...)) != len(sets) || !c.excludes(1, 550) {
		t.Errorf("%d sets of %d sensors, a tour of 550 m excluded: %v", len(sets), len(slices.Concat(sets...)), c.excludes(1, 550))
	}
}
