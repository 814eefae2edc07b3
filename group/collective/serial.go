package collective

import "fmt"

// Serial reduces the sources of all members, by rank, on one machine into dst, with the bits that an all-reduce by
// an algorithm gives on every member. Weights are by rank too, for a weighted mean. It knows nothing of frames or
// lanes: the order of its sums is that of Order.
func Serial(a Algorithm, op Op, sources []Buffer, weights []uint64, dst Buffer) error {
	n := len(sources)
	for rank, s := range sources {
		if s.typ != dst.typ || s.n != dst.n {
			return fmt.Errorf("collective: rank %d has %d × %v for a result of %d × %v", rank, s.n, s.typ, dst.n, dst.typ)
		}
	}
	if op == WeightedMean && len(weights) != n {
		return fmt.Errorf("collective: %d weights for %d members", len(weights), n)
	}
	for j := range n {
		lo, hi := Part(dst.n, n, j)
		values := make([][]byte, n) // nil for members that do not count
		total := uint64(0)
		for rank, s := range sources {
			if op == WeightedMean && weights[rank] == 0 {
				continue
			}
			values[rank] = append([]byte{}, s.at(lo, hi)...)
			if op == WeightedMean {
				total += weights[rank]
				arithmetics[dst.typ].weigh(values[rank], values[rank], weights[rank])
			}
		}
		merges, last := Order(a, n, j)
		for _, m := range merges {
			into, from := values[m.Into], values[m.From]
			if into == nil {
				values[m.Into] = from
			} else if from != nil {
				combine(dst.typ, op, into, into, from)
			}
		}
		if values[last] == nil {
			clear(dst.at(lo, hi))
			continue
		}
		finish(dst.typ, op, values[last], n, total)
		copy(dst.at(lo, hi), values[last])
	}
	return nil
}
