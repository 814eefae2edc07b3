package node

import (
	"testing"

	"pgregory.net/rapid"
)

// Membership of the core changes only outside the band around B.
func TestHysteresisRule(t *testing.T) {
	for _, c := range []struct {
		load, b   uint32
		was, want bool
	}{
		{100, 100, false, false}, {101, 100, false, false}, {110, 100, false, false}, {111, 100, false, true},
		{95, 100, true, true}, {90, 100, true, true}, {89, 100, true, false},
	} {
		if got := inCore(c.load, c.b, c.was); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The threshold is the smallest edge that at most budget of the loads exceed.
func TestThreshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Uint32Range(1, 500).Draw(t, "lo")
		hi := lo + rapid.Uint32Range(Buckets, 1000).Draw(t, "span")
		loads := rapid.SliceOfN(rapid.Uint32Range(1, 3000), 1, 200).Draw(t, "loads")
		budget := rapid.Uint32Range(0, 20).Draw(t, "budget")
		var h [Buckets]uint16
		for _, l := range loads {
			addCount(&h[bucket(lo, hi, l)], 1)
		}
		above := func(b uint32) (count uint32) {
			for _, l := range loads {
				if l > b {
					count++
				}
			}
			return count
		}
		b, k := threshold(lo, hi, &h, budget, 1<<30)
		if b == 1<<30 {
			if above(edge(lo, hi, Buckets-2)) <= budget {
				t.Fatal("gave up although an edge would do")
			}
			return
		}
		if above(b) > budget {
			t.Fatalf("%d loads exceed %d, budget %d", above(b), b, budget)
		}
		if k > 0 && above(edge(lo, hi, k-1)) <= budget && edge(lo, hi, k-1) < b {
			t.Fatalf("edge %d would do instead of %d", edge(lo, hi, k-1), b)
		}
	})
}

// Edges rise, and bucket finds the first edge that is not below the load.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Uint32Range(1, 1<<20).Draw(t, "lo")
		hi := lo + rapid.Uint32Range(Buckets, 1<<30).Draw(t, "span")
		for k := 1; k < Buckets; k++ {
			if edge(lo, hi, k) < edge(lo, hi, k-1) {
				t.Fatalf("edge %d falls", k)
			}
		}
		load := rapid.Uint32().Draw(t, "load")
		k := bucket(lo, hi, load)
		if load > edge(lo, hi, k) || k > 0 && load <= edge(lo, hi, k-1) {
			t.Fatalf("load %d in bucket %d", load, k)
		}
	})
}

// Waves are in one order, so that "newer" cannot go round in circles.
func TestWavesAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) Wave {
			return Wave{rapid.Uint32Range(0, 3).Draw(t, label), ID(rapid.Uint16Range(0, 3).Draw(t, label))}
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if a.newer(b) && b.newer(a) || a != b && !a.newer(b) && !b.newer(a) || a.newer(b) && b.newer(c) && !a.newer(c) {
			t.Fatalf("%v %v %v", a, b, c)
		}
	})
}

// A child that repeats an UPLOAD whose acknowledgement was lost is not counted twice.
func TestPacketsAreCountedOnce(t *testing.T) {
	n := New(Config{ID: 1})
	n.wave, n.settled = Wave{1, 1}, true
	n.children = []child{{id: 2}}
	for _, m := range []Message{{Lo: 1, Hi: 3}, {Lo: 1, Hi: 3}, {Lo: 1, Hi: 5}, {Lo: 6, Hi: 6}} {
		m.Kind, m.From, m.To = Upload, 2, 1
		n.Receive(1, m)
	}
	if n.held != 6 {
		t.Fatalf("%d packets, want 6", n.held)
	}
}
