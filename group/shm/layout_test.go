package shm

import (
	"testing"

	"pgregory.net/rapid"
)

// Segments are whole pages, in sum the vector, near-equal, and fit their slots.
func TestSegmentsCoverTheVector(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page := rapid.SampledFrom([]int{4096, 16384, 65536}).Draw(t, "page")
		n := rapid.IntRange(1, 300).Draw(t, "members")
		elements := rapid.OneOf(rapid.IntRange(1, 3000), rapid.IntRange(1, 3<<20), rapid.IntRange(1<<28, 1<<32)).Draw(t, "elements")
		l := newLayout(elements, page, n)
		if l.blocks()*n > 2*maxMappings && l.blocks() > 1 {
			t.Fatalf("%d mappings", l.blocks()*n)
		}
		pages := make([]int, n)
		for block := range l.blocks() {
			lo, hi := l.bounds(block)
			covered := 0
			for rank := range n {
				from, to := l.segment(block, rank)
				if from > to || from < lo || to > hi || from%(page/wordSize) != 0 && from != hi || to-from > l.slot() {
					t.Fatalf("segment of block %d, rank %d is %d..%d; slot %d", block, rank, from, to, l.slot())
				}
				if to != hi && to*wordSize%page != 0 {
					t.Fatalf("segment ends at %d", to)
				}
				covered += to - from
				pages[rank] += (to - from + page/wordSize - 1) / (page / wordSize)
			}
			if covered != hi-lo {
				t.Fatalf("%d elements of %d are in segments", covered, hi-lo)
			}
		}
		if off := l.slotAt(l.blocks() - 1); off%page != 0 || off+l.slot()*wordSize != l.shareBytes() {
			t.Fatalf("last slot at %d of %d", off, l.shareBytes())
		}
	})
}
