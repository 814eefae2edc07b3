package field

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// On a tree the routing is given, so the reference has to be the best connected set of stops around its root.
func TestReferenceOnTrees(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 61))
		parent, weight, _ := randomTree(rng, 2+rng.IntN(8))
		in := &Instance{Range: 1, Sink: Sink{Speed: 1}, Links: []Link{}}
		for u := range parent {
			in.Sensors = append(in.Sensors, Sensor{Pos: Point{float64(u), 0}, Weight: weight[u], Energy: 1})
			if parent[u] >= 0 {
				in.Links = append(in.Links, Link{A: u, B: int(parent[u]), ETX: 1})
			}
		}
		if seed%3 == 0 {
			in.Depot = &Point{float64(rng.IntN(len(parent))), 0.1}
		}
		stops := rng.IntN(len(parent))
		ref, err := NewReference(in, stops)
		if err != nil {
			t.Fatal(err)
		}
		if in.Depot != nil && float64(ref.Root) != in.Depot.X {
			t.Errorf("seed %d: root %d, depot at %g", seed, ref.Root, in.Depot.X)
		}
		if want := bestStops(in, ref.Root, stops); ref.MaxLoad != want || len(ref.Stops) > stops {
			t.Errorf("seed %d: %d stops of %d and a load of %g, best is %g", seed, len(ref.Stops), stops, ref.MaxLoad, want)
		}
	}
}

// bestStops tries every set of stops that hangs together with the root of a tree.
func bestStops(in *Instance, root, stops int) float64 {
	g, err := NewGraph(in)
	if err != nil {
		panic(err)
	}
	above, load := make([]int, g.Len()), make([]float64, g.Len())
	var walk func(u, from int)
	walk = func(u, from int) {
		above[u], load[u] = from, in.Sensors[u].Weight
		for _, v := range g.Neighbors(u) {
			if int(v) != from {
				walk(int(v), u)
				load[u] += load[v]
			}
		}
	}
	walk(root, -1)
	best := math.Inf(1)
	for set := range 1 << g.Len() {
		whole, most := set&(1<<root) != 0 && bits.OnesCount(uint(set)) <= stops+1, 0.0
		for u := range above {
			switch visited := set&(1<<u) != 0; {
			case visited && u != root && set&(1<<above[u]) == 0:
				whole = false
			case !visited:
				most = max(most, load[u])
			}
			most = max(most, in.Sensors[u].Weight)
		}
		if whole {
			best = min(best, most)
		}
	}
	return best
}

// More stops never hurt, and with enough of them everybody sends only its own packets.
func TestReferenceFallsWithStops(t *testing.T) {
	in := square(250, 300, 40, 0, 62)
	for i := range in.Sensors {
		in.Sensors[i].Weight = float64(1 + i%3)
	}
	last := math.Inf(1)
	for _, stops := range []int{0, 1, 2, 5, 10, 20, 50, 100, 250} {
		ref, err := NewReference(in, stops)
		if err != nil {
			t.Fatal(err)
		}
		if ref.MaxLoad > last || len(ref.Stops) > stops || slices.Contains(ref.Stops, ref.Root) {
			t.Errorf("%d stops: a load of %g after %g, root %d, stops %v", stops, ref.MaxLoad, last, ref.Root, ref.Stops)
		}
		last = ref.MaxLoad
	}
	if last != 3 {
		t.Errorf("with all stops the largest load is %g", last)
	}
}
