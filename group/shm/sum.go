package shm

// stripe is the number of elements that are summed in one go: all members' stripes stay in the cache, and a step
// that is cancelled ends after one.
const stripe = 4096

// weightedMean sets r = (Σ mᵢ·gᵢ)·scale, summed from left to right with each product rounded, and reports whether
// all of r is finite. The vectors of g are as long as r.
func weightedMean(r []float32, g [][]float32, m []float32, scale float32) (finite bool) {
	if len(g) == 0 {
		clear(r)
		return true
	}
	first := g[0][:len(r)]
	for i := range r {
		r[i] = m[0] * first[i]
	}
	for k := 1; k < len(g); k++ {
		next, w := g[k][:len(r)], m[k]
		for i := range r {
			r[i] += float32(w * next[i])
		}
	}
	var sick float32
	for i := range r {
		v := r[i] * scale
		r[i] = v
		sick += v - v // 0, or not a number for ever
	}
	return sick == 0
}
