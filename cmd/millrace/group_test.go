package main

import (
	"strings"
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

// TestDoingOfTheSilent: what is wrong stands on one line of the table.
func TestDoingOfTheSilent(t *testing.T) {
	if got := doing(crew.WorkerStatus{Silent: "nobody\nhere"}); got != "gives no answer: nobody: here" {
		t.Errorf("%q", got)
	}
}

// TestPrintReplay: where no epoch is complete there is no word of complete ones.
func TestPrintReplay(t *testing.T) {
	for epochs, want := range map[int]string{
		0: "samples: none of 9,013 used twice in the epoch begun\n", 1: "samples: each of 9,013 used once in each of 1 epoch\n",
	} {
		var text strings.Builder
		if err := printReplay(&text, &crew.Proof{Samples: 9013, Epochs: epochs}); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%v: %s, not %q", err, text.String(), want)
		}
	}
}
