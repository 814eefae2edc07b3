package data

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A permutation gives every sample exactly once, whatever the size.
func TestPermutationIsABijection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		p := NewPermutation(n, rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "epoch"))
		seen := make([]bool, n)
		for i := range n {
			at := p.At(i)
			if at < 0 || at >= n || seen[at] {
				t.Fatalf("position %d gives sample %d, out of range or twice", i, at)
			}
			seen[at] = true
		}
	})
}

func TestPermutationOfALargeSet(t *testing.T) {
	const n = 1<<31 + 11
	p := NewPermutation(n, 1, 2)
	seen := map[int]bool{}
	for i := range 1000 {
		at := p.At(n - 1 - i)
		if at < 0 || at >= n || seen[at] {
			t.Fatalf("sample %d is out of range or came twice", at)
		}
		seen[at] = true
	}
}

// Over many epochs each sample stands at each position equally often, and its neighbours
// vary. The bound is the 10⁻⁶ quantile of χ² for these degrees of freedom.
func TestPermutationIsUniform(t *testing.T) {
	for _, c := range []struct {
		n     int
		bound float64
	}{{2, 30}, {3, 40}, {7, 98}, {10, 165}, {13, 246}} {
		const epochs = 20000
		place := make([]int, c.n*c.n)
		follow := make([]int, c.n*c.n)
		for e := range epochs {
			p := NewPermutation(c.n, 42, uint64(e))
			for i := range c.n {
				place[i*c.n+p.At(i)]++
				if i+1 < c.n {
					follow[p.At(i)*c.n+p.At(i+1)]++
				}
			}
		}
		if x := chiSquare(place, float64(epochs)/float64(c.n), nil); x > c.bound {
			t.Errorf("n=%d: χ² of sample by position is %.1f, over %.0f", c.n, x, c.bound)
		}
		expect := float64(epochs) / float64(c.n)
		if x := chiSquare(follow, expect, func(i int) bool { return i/c.n == i%c.n }); x > c.bound {
			t.Errorf("n=%d: χ² of sample by predecessor is %.1f, over %.0f", c.n, x, c.bound)
		}
	}
}

func chiSquare(counts []int, expect float64, skip func(int) bool) float64 {
	x := 0.0
	for i, c := range counts {
		if skip != nil && skip(i) {
			continue
		}
		d := float64(c) - expect
		x += d * d / expect
	}
	return x
}

func TestEpochsAndSeedsDiffer(t *testing.T) {
	order := func(seed, epoch uint64) []int {
		p := NewPermutation(100, seed, epoch)
		var out []int
		for i := range 100 {
			out = append(out, p.At(i))
		}
		return out
	}
	base := order(1, 0)
	if slices.Equal(base, order(1, 1)) || slices.Equal(base, order(2, 0)) || slices.Equal(order(1, 1), order(2, 0)) {
		t.Error("two epochs or two seeds share an order")
	}
	if !slices.Equal(base, order(1, 0)) {
		t.Error("the same seed and epoch give two orders")
	}
}

func TestRandFollowsItsReference(t *testing.T) {
	// SplitMix64 from state 0, as published with java.util.SplittableRandom's algorithm.
	r := Rand{}
	for _, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := r.Uint64(); got != want {
			t.Fatalf("got %#x, want %#x", got, want)
		}
	}
}

func TestRandRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRand(rapid.Uint64().Draw(t, "seed"), 0, 0, 0)
		n := rapid.IntRange(1, 1<<40).Draw(t, "n")
		if v := r.IntN(n); v < 0 || v >= n {
			t.Fatalf("IntN(%d) gave %d", n, v)
		}
		if v := r.Float32(); v < 0 || v >= 1 {
			t.Fatalf("Float32 gave %v", v)
		}
		if v := r.Between(3); v < -3 || v > 3 {
			t.Fatalf("Between(3) gave %v", v)
		}
	})
}
