package field

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randomTree is a tree with node 0 as root: parents, weights 1..4, edge lengths 1..9.
func randomTree(rng *rand.Rand, n int) (parent []int32, weight, edge []float64) {
	parent, weight, edge = make([]int32, n), make([]float64, n), make([]float64, n)
	for u := range n {
		parent[u], weight[u] = ToSink, float64(1+rng.IntN(4))
		if u > 0 {
			parent[u], edge[u] = int32(rng.IntN(u)), float64(1+rng.IntN(9))
		}
	}
	return parent, weight, edge
}

// treeForest makes the forest of a given tree.
func treeForest(t *testing.T, parent []int32, weight []float64) *forest {
	t.Helper()
	in := &Instance{Range: 1, Sink: Sink{Speed: 1}}
	in.Links = []Link{}
	for u := range parent {
		in.Sensors = append(in.Sensors, Sensor{Pos: Point{float64(u), 0}, Weight: weight[u], Energy: 1})
		if parent[u] >= 0 {
			in.Links = append(in.Links, Link{A: u, B: int(parent[u]), ETX: 1})
		}
	}
	net, err := newNetwork(in)
	if err != nil {
		t.Fatal(err)
	}
	f := newForest(net)
	for u, i := range net.orig {
		if i == 0 {
			f.grow([]int32{int32(u)})
		}
	}
	return f
}

// bruteTree tries every set of visited nodes that a walk within limit from the root can have and every
// loop-free routing of the others to a neighbour or, beside a visited node, to the sink.
func bruteTree(parent []int32, weight, edge []float64, limit float64) float64 {
	n := len(parent)
	near := make([][]int32, n)
	for u := 1; u < n; u++ {
		near[u], near[parent[u]] = append(near[u], parent[u]), append(near[parent[u]], int32(u))
	}
	best := math.Inf(1)
	next := make([]int32, n)
	for set := 1; set < 1<<n; set += 2 {
		walk, whole := 0.0, true
		for u := 1; u < n; u++ {
			if set&(1<<u) != 0 {
				walk += 2 * edge[u]
				whole = whole && set&(1<<parent[u]) != 0
			}
		}
		if whole && walk <= limit {
			best = min(best, bruteRouting(0, set, near, next, weight, best))
		}
	}
	return best
}

func bruteRouting(u, set int, near [][]int32, next []int32, weight []float64, best float64) float64 {
	if u == len(next) {
		return min(best, routingCost(next, weight, nil))
	}
	choices := make([]int32, 0, 9)
	heard := set&(1<<u) != 0
	if !heard {
		for _, v := range near[u] {
			choices = append(choices, v)
			heard = heard || set&(1<<v) != 0
		}
	}
	if heard {
		choices = append(choices, ToSink)
	}
	for _, v := range choices {
		next[u] = v
		best = bruteRouting(u+1, set, near, next, weight, best)
	}
	return best
}

// routingCost is the largest load of a routing, times the node's scale where there is one; infinite for a loop.
func routingCost(next []int32, weight, scale []float64) float64 {
	var load [16]float64
	for u := range next {
		hops := 0
		for v := int32(u); v != ToSink; v = next[v] {
			load[v] += weight[u]
			if hops++; hops > len(next) {
				return math.Inf(1)
			}
		}
	}
	most := 0.0
	for u := range next {
		cost := load[u]
		if scale != nil {
			cost *= scale[u]
		}
		most = max(most, cost)
	}
	return most
}

func TestTreeCoreIsOptimal(t *testing.T) {
	trees := 5000
	if testing.Short() {
		trees = 300
	}
	for seed := range trees {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		n := 2 + rng.IntN(8)
		parent, weight, edge := randomTree(rng, n)
		limit := float64(rng.IntN(60))
		f := treeForest(t, parent, weight)
		edges := make([]float64, n)
		for u, i := range f.net.orig {
			edges[u] = edge[i]
		}
		got := smallestCore(coreKeys(f), edges, ownFloor(f.net), limit)
		if want := bruteTree(parent, weight, edge, limit); got != want {
			t.Fatalf("seed %d: %g, brute force %g (parents %v, weights %v, edges %v, limit %g)", seed, got, want, parent, weight, edge, limit)
		}
	}
}

func TestClusterLoadsStayBelowTwiceTheBound(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 12))
		parent, weight, _ := randomTree(rng, 40)
		f := treeForest(t, parent, weight)
		b := 4 + float64(rng.IntN(10))
		if tops := f.clusterTops(b); float64(len(tops)) > f.net.total/b {
			t.Fatalf("seed %d: %d clusters of more than %g in a total of %g", seed, len(tops), b, f.net.total)
		}
	}
}

func TestMedianIsExactOnSmallParts(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 13))
		parent, weight, _ := randomTree(rng, 30)
		f := treeForest(t, parent, weight)
		members := make([]int32, 30)
		for i := range members {
			members[i] = int32(i)
		}
		got := f.hopSum(medians(f.net)[0], members)
		for u := range members {
			if other := f.hopSum(int32(u), members); other < got {
				t.Fatalf("seed %d: %g, node %d has %g", seed, got, u, other)
			}
		}
	}
}
