package cpu

import (
	"cmp"
	"slices"

	"millrace.dev/learn/tensor"
)

// span is a buffer to be placed: its size in bytes and the ops, first to last, during which it
// is alive.
type span struct {
	size        int
	first, last int
	off         int // set by placeSpans
}

func (s *span) overlaps(t *span) bool { return s.first <= t.last && t.first <= s.last }

// placeSpans gives every span an offset such that no two that are alive at the same time share
// a byte: largest first, each into the tightest gap between those placed already (best fit).
// It returns the arena's size and the lower bound, the most bytes that are alive at once.
func placeSpans(spans []*span) (arena, lower int) {
	order := slices.Clone(spans)
	for _, s := range order {
		s.size = roundUp(s.size)
	}
	slices.SortStableFunc(order, func(a, b *span) int { return cmp.Compare(b.size, a.size) })
	placed := []*span{} // by offset
	for _, s := range order {
		s.off = bestGap(s, placed)
		i, _ := slices.BinarySearchFunc(placed, s, func(a, b *span) int { return cmp.Compare(a.off, b.off) })
		placed = slices.Insert(placed, i, s)
		arena = max(arena, s.off+s.size)
	}
	return arena, peak(spans)
}

// bestGap finds the smallest gap that fits s between the placed spans that live with it.
func bestGap(s *span, placed []*span) int {
	end, best, bestSize := 0, -1, 0
	for _, p := range placed {
		if !p.overlaps(s) {
			continue
		}
		if gap := p.off - end; gap >= s.size && (best < 0 || gap < bestSize) {
			best, bestSize = end, gap
		}
		end = max(end, p.off+p.size)
	}
	if best < 0 {
		return end
	}
	return best
}

// peak is the most bytes alive at once.
func peak(spans []*span) int {
	change := map[int]int{}
	for _, s := range spans {
		change[s.first] += s.size
		change[s.last+1] -= s.size
	}
	at := make([]int, 0, len(change))
	for t := range change {
		at = append(at, t)
	}
	slices.Sort(at)
	most, now := 0, 0
	for _, t := range at {
		now += change[t]
		most = max(most, now)
	}
	return most
}

func roundUp(n int) int { return (n + tensor.Align - 1) / tensor.Align * tensor.Align }
