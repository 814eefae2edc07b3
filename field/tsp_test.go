package field

import (
	"math"
	"math/rand/v2"
	"testing"
)

func randomPoints(rng *rand.Rand, n int, side float64) []Point {
	pos := make([]Point, n)
	for i := range pos {
		pos[i] = Point{rng.Float64() * side, rng.Float64() * side}
	}
	return pos
}

func tourOf(pos []Point, kicks int, seed uint64) *tsp {
	t := newTSP(pos, hilbertOrder(pos), func(a, b int32) float64 { return pos[a].Dist(pos[b]) })
	t.optimise(kicks, rand.New(rand.NewPCG(seed, 1)))
	return t
}

// exactTour is the Held-Karp dynamic program.
func exactTour(pos []Point) float64 {
	n := len(pos) - 1 // city n is the start
	best := make([][]float64, 1<<n)
	for set := range best {
		best[set] = make([]float64, n)
		for last := range n {
			best[set][last] = math.Inf(1)
			if set&(1<<last) == 0 {
				continue
			}
			rest := set &^ (1 << last)
			if rest == 0 {
				best[set][last] = pos[n].Dist(pos[last])
				continue
			}
			for p := range n {
				if rest&(1<<p) != 0 {
					best[set][last] = min(best[set][last], best[rest][p]+pos[p].Dist(pos[last]))
				}
			}
		}
	}
	answer := math.Inf(1)
	for last := range n {
		answer = min(answer, best[len(best)-1][last]+pos[last].Dist(pos[n]))
	}
	return answer
}

func TestTourIsOptimalOnSmallSets(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		pos := randomPoints(rng, 4+int(seed%8), 100)
		got, want := tourOf(pos, 400, seed).length(), exactTour(pos)
		if got > want*1.0001 || got < want*0.9999 {
			t.Errorf("seed %d, %d cities: %.3f, optimum %.3f", seed, len(pos), got, want)
		}
	}
}

func TestTourStaysAPermutationAndUndoes(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 9))
		pos := randomPoints(rng, 5+rng.IntN(300), 100)
		if seed%4 == 0 {
			for i := range pos { // many equal cities
				pos[i] = Point{float64(rng.IntN(4)), float64(rng.IntN(4))}
			}
		}
		tour := tourOf(pos, 0, seed)
		for range 50 {
			before := tour.length()
			tour.iterate(20, rng)
			if after := tour.length(); after > before+1e-6 {
				t.Fatalf("seed %d: tour grew from %g to %g", seed, before, after)
			}
		}
		seen := make([]bool, len(pos))
		for i, c := range tour.order {
			if seen[c] || tour.at[c] != int32(i) {
				t.Fatalf("seed %d: not a permutation at place %d", seed, i)
			}
			seen[c] = true
		}
	}
}

func TestNearestListsMatchAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	pos := randomPoints(rng, 200, 50)
	pos = append(pos, Point{1e5, 1e5}, Point{1e5, 1e5 + 1})
	const k = 7
	got := nearestLists(pos, k)
	for u := range pos {
		var want []nodeAt
		for v := range pos {
			if v != u {
				want = insertNearest(want, nodeAt{pos[u].Dist(pos[v]), int32(v)}, k)
			}
		}
		for i := range k {
			if got[u*k+i] != want[i].node {
				t.Fatalf("point %d, neighbour %d: %d, want %d", u, i, got[u*k+i], want[i].node)
			}
		}
	}
}
