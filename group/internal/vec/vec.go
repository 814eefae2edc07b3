package vec

//go:generate go -C _asm run .

import "millrace.dev/internal/cpu"

// block is the number of elements of one call of a kernel.
const block = 8192

// set is the variants of one level.
type set struct {
	weightedSum  func(r, a, b []float32, ma, mb float32)
	weightedMean func(r, a, b []float32, ma, mb, scale float32) bool
	scaled       func(r, a []float32, m, scale float32) bool
	stream       func(to, from []byte) // of whole lines; to begins one
}

var generic = set{weightedSumGeneric, weightedMeanGeneric, scaledGeneric, streamGeneric}

// current is the set that kernels use now.
func current() *set { return &sets[cpu.Current()] }

// WeightedSum does r = ma·a + mb·b.
func WeightedSum(r, a, b []float32, ma, mb float32) {
	k := current()
	a, b = a[:len(r)], b[:len(r)]
	for at := 0; at < len(r); at += block {
		end := min(at+block, len(r))
		k.weightedSum(r[at:end], a[at:end], b[at:end], ma, mb)
	}
}

// WeightedMean does r = (ma·a + mb·b)·scale and reports whether all of r is finite.
func WeightedMean(r, a, b []float32, ma, mb, scale float32) bool {
	k := current()
	a, b = a[:len(r)], b[:len(r)]
	finite := true
	for at := 0; at < len(r); at += block {
		end := min(at+block, len(r))
		finite = k.weightedMean(r[at:end], a[at:end], b[at:end], ma, mb, scale) && finite
	}
	return finite
}

// Scaled does r = (m·a)·scale and reports whether all of r is finite.
func Scaled(r, a []float32, m, scale float32) bool {
	k := current()
	a = a[:len(r)]
	finite := true
	for at := 0; at < len(r); at += block {
		end := min(at+block, len(r))
		finite = k.scaled(r[at:end], a[at:end], m, scale) && finite
	}
	return finite
}

// Mean does r = (Σ m[i]·g[i])·scale, added in the order of i, without those whose m is 0, and reports whether all
// of r is finite. When every m is 0, so is r.
func Mean(r []float32, g [][]float32, m []float32, scale float32) bool {
	k := current()
	finite := true
	for at := 0; at < len(r); at += block {
		finite = meanBlock(k, r[at:min(at+block, len(r))], at, g, m, scale) && finite
	}
	return finite
}

func meanBlock(k *set, r []float32, at int, g [][]float32, m []float32, scale float32) bool {
	// sum is the sum so far and w what it is still to be multiplied with: the first term waits for the second.
	var sum []float32
	var w float32
	for i, x := range g {
		if m[i] == 0 {
			continue
		}
		x = x[at : at+len(r)]
		switch {
		case sum == nil:
			sum, w = x, m[i]
		case last(m, i):
			return k.weightedMean(r, sum, x, w, m[i], scale)
		default:
			k.weightedSum(r, sum, x, w, m[i])
			sum, w = r, 1
		}
	}
	if sum == nil {
		clear(r)
		return true
	}
	return k.scaled(r, sum, w, scale)
}

// last reports whether no weight after i counts.
func last(m []float32, i int) bool {
	for _, w := range m[i+1:] {
		if w != 0 {
			return false
		}
	}
	return true
}

func weightedSumGeneric(r, a, b []float32, ma, mb float32) {
	a, b = a[:len(r)], b[:len(r)]
	for i := range r {
		r[i] = float32(ma*a[i]) + float32(mb*b[i])
	}
}

func weightedMeanGeneric(r, a, b []float32, ma, mb, scale float32) bool {
	a, b = a[:len(r)], b[:len(r)]
	finite := true
	for i := range r {
		x := float32(float32(ma*a[i])+float32(mb*b[i])) * scale
		r[i] = x
		finite = finite && x-x == 0
	}
	return finite
}

func scaledGeneric(r, a []float32, m, scale float32) bool {
	a = a[:len(r)]
	finite := true
	for i := range r {
		x := float32(m*a[i]) * scale
		r[i] = x
		finite = finite && x-x == 0
	}
	return finite
}

func streamGeneric(to, from []byte) { copy(to, from) }
