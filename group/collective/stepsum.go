package collective

import (
	"millrace.dev/fabric"
	"millrace.dev/group/internal/vec"
	"millrace.dev/group/reduce"
)

// sum adds this member's gradients to a partial sum that has arrived, and passes it on. It releases the lock
// while it adds.
func (s *Step) sum(i int) {
	seg := &s.segments[i]
	from, to := s.bounds(i)
	g, r := s.cfg.Gradients[from:to], s.cfg.Result[from:to]
	n := s.cfg.Size
	first, last := (i%n+1)%n == s.cfg.Rank, i%n == s.cfg.Rank

	flags, weight, m := seg.flags, seg.weight, s.m
	seg.state = summing
	s.summing++
	s.mu.Unlock()
	body, finite := r, true
	if last {
		finite = total(r, g, flags, weight, m)
		flags = flagFinal | flags&flagAbsent
		if m > 0 {
			flags &^= flagAbsent
		}
		if !finite {
			flags |= flagInfinite
		}
	} else {
		flags, body = partial(r, g, flags, weight, m)
	}
	s.mu.Lock()
	s.summing--
	if s.err != nil {
		return
	}
	seg.state = passed
	h := fabric.Header{Type: stepData, Flags: flags, Epoch: s.cfg.Epoch, Step: s.step, Aux: weight + m,
		Bucket: uint32(i % n), Chunk: uint32(i / n)}
	if last {
		s.final(i, h)
		return
	}
	s.pass(h, body, first)
}

// partial makes r, a partial sum with its flags and weight, include m·g. It returns the flags of the new sum and
// where it lies: r, or g if that is all there is.
func partial(r, g []float32, flags uint8, weight, m uint64) (uint8, []float32) {
	switch {
	case m == 0:
		return flags, r
	case flags&flagAbsent != 0:
		return flagRaw, g
	case flags&flagRaw != 0:
		vec.WeightedSum(r, r, g, float32(weight), float32(m))
	default:
		vec.WeightedSum(r, r, g, 1, float32(m))
	}
	return 0, r
}

// total makes r the mean, from the partial sum of all others in it and this member's m·g, and reports whether it is
// finite.
func total(r, g []float32, flags uint8, weight, m uint64) bool {
	scale := reduce.Scale(weight + m)
	factor := float32(1)
	if flags&flagRaw != 0 {
		factor = float32(weight)
	}
	switch {
	case flags&flagAbsent != 0 && m == 0:
		clear(r)
		return true
	case flags&flagAbsent != 0:
		return vec.Scaled(r, g, float32(m), scale)
	case m == 0:
		return vec.Scaled(r, r, factor, scale)
	}
	return vec.WeightedMean(r, r, g, factor, float32(m), scale)
}
