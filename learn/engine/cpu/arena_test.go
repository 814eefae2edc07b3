package cpu

import (
	"testing"

	"pgregory.net/rapid"

	"millrace.dev/learn/tensor"
)

// TestPlaceSpans checks random buffers: aligned, apart while alive together, and never below
// the lower bound.
func TestPlaceSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := make([]*span, rapid.IntRange(0, 60).Draw(t, "n"))
		for i := range spans {
			first := rapid.IntRange(0, 50).Draw(t, "first")
			spans[i] = &span{
				size:  rapid.IntRange(0, 5000).Draw(t, "size"),
				first: first, last: first + rapid.IntRange(0, 20).Draw(t, "length"),
			}
		}
		arena, lower := placeSpans(spans)
		if arena < lower {
			t.Fatalf("arena %d below its lower bound %d", arena, lower)
		}
		for i, a := range spans {
			if a.off%tensor.Align != 0 || a.off < 0 || a.off+a.size > arena {
				t.Fatalf("span %d at %d of size %d in %d", i, a.off, a.size, arena)
			}
			for _, b := range spans[:i] {
				if a.overlaps(b) && a.off < b.off+b.size && b.off < a.off+a.size {
					t.Fatalf("%+v and %+v share bytes", *a, *b)
				}
			}
		}
	})
}

// TestPlaceSpansReuses shows the planner at work on a chain, where two buffers suffice.
func TestPlaceSpansReuses(t *testing.T) {
	spans := []*span{{size: 1000, first: 0, last: 1}, {size: 1000, first: 1, last: 2}, {size: 1000, first: 2, last: 3}}
	if arena, lower := placeSpans(spans); arena != 2048 || lower != 2048 {
		t.Fatalf("arena %d, lower bound %d, want 2048", arena, lower)
	}
}
