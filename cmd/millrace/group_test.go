package main

import (
	"testing"

	"millrace.dev/cmd/millrace/internal/crew"
	"millrace.dev/group"
)

// TestDoing: a status tells what a worker has dropped and refused, where there is something.
func TestDoing(t *testing.T) {
	for want, s := range map[string]group.Status{
		"computing step 3": {Doing: "computing step 3"},
		"reducing step 3, waiting for w1; late frames dropped: 1,200; connections refused: 2; trouble: no room": {
			Doing: "reducing step 3", Waiting: "for w1", Stale: 1200, Refused: 2, Trouble: "no room",
		},
	} {
		if got := doing(crew.WorkerStatus{Status: s}); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
