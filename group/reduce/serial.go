package reduce

import "fmt"

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
	scale := Scale(f.Weight)
	for _, s := range spans {
		for e := s.Lo; e < s.Hi; e++ {
			var sum float32
			first := true
			for k := range n {
				rank := (s.First + k) % n
				if m[rank] == 0 {
					continue
				}
				product := float32(float32(m[rank]) * g[rank][e]) // rounded: no fused multiply-add
				if first {
					sum, first = product, false
				} else {
					sum = float32(sum + product)
				}
			}
			r[e] = float32(sum * scale)
			if r[e]-r[e] != 0 {
				f.Finite = false
			}
		}
	}
	return f, nil
}

// Scale is what a weighted sum of total weight M is multiplied with to become a mean: float32(1/M), and 0 for M = 0.
func Scale(weight uint64) float32 {
	if weight == 0 {
		return 0
	}
	return float32(1 / float64(weight))
}
