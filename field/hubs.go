package field

import (
	"math/rand/v2"
	"slices"
)

// maxSample is the most nodes whose positions decide where hubs lie.
const maxSample = 4000

// hubs are the nodes nearest to the centres of k clusters of positions, weighted by packets (Lloyd's iteration on a sample).
func (net *network) hubs(k int, want []bool, rng *rand.Rand) []int32 {
	sample := rng.Perm(net.len())[:min(net.len(), max(maxSample, k))]
	sample = slices.DeleteFunc(sample, func(u int) bool { return !want[net.part[u]] })
	k = min(k, len(sample))
	centres := make([]Point, k)
	for i := range centres {
		centres[i] = net.pos[sample[i]]
	}
	b := boxOf(net.pos)
	cell := max((b.max.X-b.min.X+b.max.Y-b.min.Y)/float64(2*k+1), 1)
	for range 10 {
		centres = net.recentre(centres, sample, cell)
	}
	var hubs []int32
	taken := make(map[int32]bool, k)
	for _, c := range centres {
		if u := net.index.closest(c, func(i int32) bool { return !taken[i] && want[net.part[i]] }); u >= 0 {
			taken[u] = true
			hubs = append(hubs, u)
		}
	}
	return hubs
}

// recentre moves each centre to the weighted middle of the sample nodes that are nearest to it.
func (net *network) recentre(centres []Point, sample []int, cell float64) []Point {
	index := newGrid(centres, cell)
	sum, weight := make([]Point, len(centres)), make([]float64, len(centres))
	for _, u := range sample {
		p, w := net.pos[u], net.weight[u]+1e-9
		c := index.closest(p, nil)
		sum[c].X, sum[c].Y, weight[c] = sum[c].X+w*p.X, sum[c].Y+w*p.Y, weight[c]+w
	}
	next := slices.Clone(centres)
	for c, w := range weight {
		if w > 0 {
			next[c] = Point{sum[c].X / w, sum[c].Y / w}
		}
	}
	return next
}
