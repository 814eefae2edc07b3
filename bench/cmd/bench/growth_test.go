package main

import (
	"errors"
	"math"
	"testing"

	"millrace.dev/bench/harness"
)

// A machine that is slow in some rounds shows in the medians of the times, here 4 to 1, but not in the ratio.
func TestGrownComparesWithinRounds(t *testing.T) {
	entrant := func(steps int, seconds ...float64) *harness.Entrant {
		e := &harness.Entrant{}
		for _, s := range seconds {
			e.Bursts = append(e.Bursts, harness.Burst{Wall: s * float64(steps), Steps: steps})
		}
		return e
	}
	two, four := entrant(10, 0.01, 0.01, 0.04), entrant(1, 0.03, 0.15, 0.12)
	row := grown("growth/n=4/in-place", 4, four, two)
	if math.Abs(row.Ratio-1) > 1e-9 || math.Abs(row.Ours-40) > 1e-9 || math.Abs(row.Peer-10) > 1e-9 || row.Missing != "" {
		t.Errorf("ratio %g of %g and %g ms (%q), want 1 of 40 and 10", row.Ratio, row.Ours, row.Peer, row.Missing)
	}
	if math.Abs(row.Spread-1) > 1e-9 { // of 1, 5 and 1: the quartiles are 1 and 3
		t.Errorf("spread %g, want 1", row.Spread)
	}
	four.Failure = errors.New("no ranks")
	if row := grown("growth/n=4/in-place", 4, four, two); row.Missing != "no ranks" || !math.IsNaN(row.Ratio) {
		t.Errorf("a row of a failed entrant has ratio %g, missing %q", row.Ratio, row.Missing)
	}
}
