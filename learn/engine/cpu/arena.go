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

// orders are the orders in which placeSpans tries to place buffers; no single one is always
// good: the large ones first, those that occupy most bytes for most ops first, as they come.
var orders = []func(a, b *span) int{
	func(a, b *span) int { return cmp.Compare(b.size, a.size) },
	func(a, b *span) int { return cmp.Compare(b.size*(b.last-b.first+1), a.size*(a.last-a.first+1)) },
	func(a, b *span) int { return cmp.Compare(a.first, b.first) },
}

// placeSpans gives every span an offset such that no two that are alive at the same time share
// a byte: one after the other, each into the tightest gap between those placed already (best
// fit), in the best of several orders. It returns the arena's size and the lower bound, the
// most bytes that are alive at once.
func placeSpans(spans []*span) (arena, lower int) {
	for _, s := range spans {
		s.size = roundUp(s.size)
	}
	lower = peak(spans)
	best := make([]int, len(spans))
	for i, order := range orders {
		size := placeInOrder(spans, order)
		if i == 0 || size < arena {
			arena = size
			for k, s := range spans {
				best[k] = s.off
			}
		}
		if arena == lower {
			break
		}
	}
	for k, s := range spans {
		s.off = best[k]
	}
	return arena, lower
}

func placeInOrder(spans []*span, order func(a, b *span) int) (arena int) {
	queue := slices.Clone(spans)
	slices.SortStableFunc(queue, order)
	placed := make([]*span, 0, len(queue)) // by offset
	for _, s := range queue {
		s.off = bestGap(s, placed)
		i, _ := slices.BinarySearchFunc(placed, s, func(a, b *span) int { return cmp.Compare(a.off, b.off) })
		placed = slices.Insert(placed, i, s)
		arena = max(arena, s.off+s.size)
	}
	return arena
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
