package node

import "math"

// Buckets of a histogram over [lo, hi]: bucket 0 holds loads up to lo, the edges between grow by a constant factor up
// to hi, and the last buckets, each much wider than the one before, catch what is heavier than expected.

// fine is the bucket that ends at hi.
const fine = Buckets - 4

// edge is the largest load in bucket k.
func edge(lo, hi uint32, k int) uint32 {
	switch {
	case k == Buckets-1:
		return math.MaxUint32
	case k > fine:
		return uint32(min(uint64(hi)<<(2*(k-fine)-1), math.MaxUint32))
	}
	ratio := float64(hi) / float64(lo)
	return uint32(math.Round(float64(lo) * math.Pow(ratio, float64(k)/fine)))
}

// bucket is the one that a load belongs to.
func bucket(lo, hi, load uint32) int {
	for k := range Buckets - 1 {
		if load <= edge(lo, hi, k) {
			return k
		}
	}
	return Buckets - 1
}

// addCount adds to a bucket without overflow.
func addCount(into *uint16, n uint16) {
	*into = uint16(min(uint32(*into)+uint32(n), math.MaxUint16))
}

// threshold is the smallest edge that at most budget of the counted nodes exceed, and its bucket. When even the last
// edge is exceeded by more, it is the whole load: nobody but the root is visited.
func threshold(lo, hi uint32, hist *[Buckets]uint16, budget, whole uint32) (b uint32, k int) {
	above := uint32(0)
	for k = Buckets - 1; k > 0; k-- {
		if above+uint32(hist[k]) > budget {
			break
		}
		above += uint32(hist[k])
	}
	if k == Buckets-1 {
		return whole, k
	}
	return edge(lo, hi, k), k
}
