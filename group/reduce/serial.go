package reduce

import (
	"fmt"

	"millrace.dev/group/internal/vec"
)

// Serial reduces a step on one machine with the bits that the members of a view get: g and m hold the gradients
// and weights by rank. It is the reference that implementations are tested against and that a run's log is
// replayed with.
func Serial(a Algorithm, g [][]float32, m []uint64, r []float32) (Facts, error) {
	n := len(g)
	if len(m) != n {
		return Facts{}, fmt.Errorf("reduce: %d vectors but %d weights", n, len(m))
	}
	for rank := range g {
		if len(g[rank]) != len(r) {
			return Facts{}, fmt.Errorf("reduce: rank %d has %d elements, the result %d", rank, len(g[rank]), len(r))
		}
	}
	spans, err := Spans(a, n, len(r))
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Finite: true}
	for _, w := range m {
		f.Weight += w
	}
	sum := sum{g: g, m: m, scale: Scale(f.Weight), terms: make([]term, n)}
	for _, s := range spans {
		sum.merges, sum.result = Order(a, n, s.First)
		for lo := s.Lo; lo < s.Hi; lo += block {
			hi := min(lo+block, s.Hi)
			f.Finite = sum.of(r[lo:hi], lo) && f.Finite
		}
	}
	return f, nil
}

// block is how many elements Serial adds at a time.
const block = 4096

// sum adds up short ranges.
type sum struct {
	g      [][]float32
	m      []uint64
	scale  float32
	merges []Merge
	result int
	terms  []term
}

// term is a member's sum so far, still to be multiplied with w: its gradients are not, until they are added.
type term struct {
	x     []float32 // nil if nobody contributed to it
	w     float32
	space [block]float32
}

// of makes r the mean of the elements from lo on, and reports whether it is finite.
func (s *sum) of(r []float32, lo int) bool {
	for rank := range s.terms {
		t := &s.terms[rank]
		t.x, t.w = s.g[rank][lo:lo+len(r)], float32(s.m[rank])
		if s.m[rank] == 0 {
			t.x = nil
		}
	}
	for _, m := range s.merges {
		into, from := &s.terms[m.Into], &s.terms[m.From]
		switch {
		case from.x == nil:
		case into.x == nil:
			into.x, into.w = from.x, from.w
		default:
			vec.WeightedSum(into.space[:len(r)], into.x, from.x, into.w, from.w)
			into.x, into.w = into.space[:len(r)], 1
		}
	}
	t := &s.terms[s.result]
	if t.x == nil {
		clear(r)
		return true
	}
	return vec.Scaled(r, t.x, t.w, s.scale)
}

// Scale is what a weighted sum of total weight M is multiplied with to become a mean: float32(1/M), and 0 for M = 0.
func Scale(weight uint64) float32 {
	if weight == 0 {
		return 0
	}
	return float32(1 / float64(weight))
}
