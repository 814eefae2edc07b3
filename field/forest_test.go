package field

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// anyNetwork is the network of anyInstance with a few random sources.
func anyNetwork(t *testing.T, seed uint64) (*network, []int32) {
	t.Helper()
	net, err := newNetwork(anyInstance(seed))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 51))
	var sources []int32
	for _, u := range rng.Perm(net.len())[:min(net.len(), 1+rng.IntN(10))] {
		sources = append(sources, int32(u))
	}
	slices.Sort(sources)
	return net, sources
}

// examine recomputes what a forest claims about itself.
func examine(t *testing.T, f *forest, sources []int32) {
	t.Helper()
	packets := slices.Clone(f.net.weight)
	for _, u := range f.order {
		hops := 0
		for v := f.parent[u]; v != ToSink; v = f.parent[v] {
			if v < 0 {
				t.Fatalf("node %d is in the order but has no way", u)
			}
			packets[v] += f.net.weight[u]
			if hops++; hops > f.net.len() {
				t.Fatalf("the way of node %d is a loop", u)
			}
		}
		if p := f.parent[u]; p >= 0 && f.net.graph.ETX(int(u), int(p)) == 0 {
			t.Fatalf("node %d sends to %d without a link", u, p)
		}
		if p := f.parent[u]; p >= 0 && f.up != nil && float64(f.up[u]) != f.net.graph.ETX(int(u), int(p)) {
			t.Fatalf("node %d has the ETX of another link", u)
		}
		if (f.parent[u] == ToSink) != slices.Contains(sources, u) {
			t.Fatalf("node %d uploads: %v", u, f.parent[u] == ToSink)
		}
	}
	reached := map[int32]bool{}
	for _, s := range sources {
		reached[f.net.part[s]] = true
	}
	for u := range packets {
		if (f.parent[u] != NoRoute) != reached[f.net.part[u]] {
			t.Fatalf("node %d has a way: %v", u, f.parent[u] != NoRoute)
		}
		if f.parent[u] != NoRoute && math.Abs(packets[u]-f.packets[u]) > 1e-9 {
			t.Fatalf("node %d passes on %g packets, not %g", u, packets[u], f.packets[u])
		}
	}
}

func costs(f *forest) []float64 {
	var list []float64
	for _, u := range f.order {
		list = append(list, f.cost(u))
	}
	slices.SortFunc(list, func(a, b float64) int { return cmp.Compare(b, a) })
	return list
}

func TestForestsRouteEverythingWithoutLoops(t *testing.T) {
	for seed := range uint64(80) {
		net, sources := anyNetwork(t, seed)
		if net.len() == 0 {
			continue
		}
		f := newForest(net)
		for _, grow := range []func([]int32){f.grow, f.spread, f.growPlain, f.growMST} {
			grow(sources)
			examine(t, f, sources)
			before := costs(f)
			f.relieve(0, 5)
			examine(t, f, sources)
			if after := costs(f); slices.CompareFunc(after, before, func(a, b float64) int {
				if math.Abs(a-b) < 1e-9 {
					return 0
				}
				return cmp.Compare(a, b)
			}) > 0 {
				t.Fatalf("seed %d: relieving raised the sorted costs from %v to %v", seed, before, after)
			}
		}
	}
}

func TestGrowTakesFewestHops(t *testing.T) {
	net, err := newNetwork(square(200, 200, 30, 0, 52))
	if err != nil {
		t.Fatal(err)
	}
	f, sources := newForest(net), []int32{3, 77, 150}
	f.grow(sources)
	hops := make([]int, net.len())
	for i := range hops {
		hops[i] = 1 << 20
	}
	for _, s := range sources {
		hops[s] = 0
	}
	for range net.len() { // Bellman and Ford
		for u := range hops {
			for _, v := range net.graph.Neighbors(u) {
				hops[u] = min(hops[u], hops[v]+1)
			}
		}
	}
	for _, u := range f.order {
		if p := f.parent[u]; p >= 0 && hops[p] != hops[u]-1 {
			t.Errorf("node %d at %d hops hangs below one at %d", u, hops[u], hops[p])
		}
	}
}

// TestForestsAllocateNothing keeps the planner's inner loop free of garbage: after the first time no buffer grows.
func TestForestsAllocateNothing(t *testing.T) {
	net, err := newNetwork(square(500, 300, 30, 0, 53))
	if err != nil {
		t.Fatal(err)
	}
	f, sources := newForest(net), []int32{3, 77, 150, 290, 400}
	for name, grow := range map[string]func([]int32){"grow": f.grow, "spread": f.spread} {
		work := func() {
			grow(sources)
			f.relieve(0, 5)
		}
		work()
		if n := testing.AllocsPerRun(10, work); n > 0 {
			t.Errorf("%s and relieve allocate %v times", name, n)
		}
	}
}

func TestGraphMatchesAllPairs(t *testing.T) {
	for seed := range uint64(40) {
		in := anyInstance(seed)
		g, err := NewGraph(in)
		if err != nil {
			t.Fatal(err)
		}
		c := checker{in: in, p: &Plan{}, shields: polygonsOf(in.Obstacles, func(o Obstacle) bool { return o.Shield })}
		if in.Links != nil {
			c.etx = etxOf(in)
		}
		for i := range in.Sensors {
			for j := range in.Sensors {
				want := 0.0
				if i != j && in.Sensors[i].Energy > 0 && in.Sensors[j].Energy > 0 {
					want = c.linkETX(i, j)
				}
				if got := g.ETX(i, j); math.Abs(got-want) > 1e-6*want {
					t.Fatalf("seed %d: link %d-%d has ETX %g, want %g", seed, i, j, got, want)
				}
			}
		}
	}
}

func TestComponentsMatchSearch(t *testing.T) {
	for seed := range uint64(20) {
		net, _ := anyNetwork(t, seed)
		for u := range net.len() {
			for _, v := range net.graph.Neighbors(u) {
				if net.part[u] != net.part[v] {
					t.Fatalf("seed %d: linked nodes %d and %d are in parts %d and %d", seed, u, v, net.part[u], net.part[v])
				}
			}
		}
		f := newForest(net)
		for c := range int32(net.parts) {
			members := 0
			for _, p := range net.part {
				if p == c {
					members++
				}
			}
			f.grow([]int32{int32(slices.Index(net.part, c))})
			if len(f.order) != members {
				t.Fatalf("seed %d: part %d has %d nodes, a search finds %d", seed, c, members, len(f.order))
			}
		}
	}
}
