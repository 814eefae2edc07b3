package control

import (
	"path/filepath"
	"testing"
	"time"
)

// TestTakenDecisions mixes decisions that were made elsewhere into a run with policies: they are in
// force, their outcome is observed, and a replay of the policies goes through.
func TestTakenDecisions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	r := startTrainer(t, path)
	r.run(t, 1, 30)
	taken := Taken{"group", "workers", Proposal{
		New: Number(3), Reason: "w2 was lost",
		Expect: &Expectation{Signal: "throughput", Unit: "images/s", Statistic: Median, Value: 300, Horizon: 10},
	}}
	if err := r.loop.Take(taken, 30, epoch.Add(30*time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := r.loop.Setting("workers"); got != Number(3) {
		t.Errorf("in force is %v", got)
	}
	r.run(t, 31, 60)
	if err := r.journal.Close(); err != nil {
		t.Fatal(err)
	}
	decisions, _, err := ReadDecisions(path)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, d := range decisions {
		if d.Elsewhere {
			found = d.Change() == "workers 0 → 3" && d.Point == 30 && d.Observed != nil && d.Observed.Samples == 10
		}
	}
	if !found {
		t.Errorf("got %+v", decisions)
	}
	if _, err := Replay(path, trainerPolicies); err != nil {
		t.Error(err)
	}
}
