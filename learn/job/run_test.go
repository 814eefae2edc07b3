package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace.dev/control"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/train"
)

func carryOut(t *testing.T, s Settings) *Result {
	t.Helper()
	j, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir, err := rundir.Create(Verb, filepath.Join(t.TempDir(), "run"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Start(dir, nil); err != nil {
		t.Fatal(err)
	}
	r, err := j.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestShortRun goes through a whole run on the embedded images.
func TestShortRun(t *testing.T) {
	s := Defaults()
	s.Model, s.Steps, s.CheckpointEvery = "mlp", 150, 0
	if r := carryOut(t, s); r.TestAccuracy < 0.75 || r.Steps != 150 || r.Epochs != 2 || r.TestSamples != 2000 || r.TestTop5 == nil || r.BestEpoch != 0 ||
		r.ArenaBytes < r.ArenaLowerBound || r.MemoryBytes < r.ArenaBytes {
		t.Errorf("%+v", r)
	}
}

// TestModelIsWrittenLast spoils the weights in the last step: the test finds out, and no model
// is left.
func TestModelIsWrittenLast(t *testing.T) {
	for fraction, want := range map[float64]string{0: "on the test split: ", 0.1: "validation after epoch 1: "} {
		s := Defaults()
		s.Model, s.Optimizer, s.Schedule, s.Steps, s.ValidFraction = "mlp", "sgd", "constant", 1, fraction
		j, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		j.config.Schedule = optim.Constant(1e30)
		dir, err := rundir.Create(Verb, filepath.Join(t.TempDir(), "run"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Start(dir, nil); err != nil {
			t.Fatal(err)
		}
		_, err = j.Run(context.Background(), nil)
		var diverged *train.DivergedError
		if !errors.As(err, &diverged) || !strings.Contains(err.Error(), ": mlp/") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if _, err := os.Stat(dir.File(ModelFile)); err == nil {
			t.Error("a model was written")
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSpent sums what three processes noted, one of which was killed.
func TestSpent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if d, err := Spent(path); d != 0 || err != nil {
		t.Errorf("of nothing: %v, %v", d, err)
	}
	clock := time.Unix(1000, 0)
	for i, seconds := range []time.Duration{10, 4, 0} {
		journal, err := control.OpenJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		loop, err := control.NewLoop(journal, control.Config{Settings: map[string]control.Setting{"a": control.Number(1)}})
		if err != nil {
			t.Fatal(err)
		}
		begin := loop.Start
		if i > 0 {
			begin = loop.Resume
		}
		err = begin(0, clock)
		clock = clock.Add(seconds * time.Second)
		if seconds > 0 {
			err = errors.Join(err, loop.Observe(control.Signal{Name: "x", Time: clock, Value: 1}))
		}
		if err = errors.Join(err, journal.Close()); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Hour)
	}
	if d, err := Spent(path); d != 14*time.Second || err != nil {
		t.Errorf("%v, %v; want 14 s", d, err)
	}
}

// TestRoom compares what a run may take with what it took, and with what is free.
func TestRoom(t *testing.T) {
	s := Defaults()
	s.Model, s.Steps, s.EarlyStop, s.ValidFraction = "mlp", 3, 2, 0.1
	j, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a", "b")
	if err := j.CheckRoom(path); err != nil {
		t.Error(err)
	}
	if free, known := freeBytes(path); !known || free <= 0 {
		t.Errorf("%d free, %v", free, known)
	}
	dir, err := rundir.Create(Verb, path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Start(dir, nil); err != nil {
		t.Fatal(err)
	}
	r, err := j.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, most := range map[string]int64{
		r.Model: j.modelBytes(), dir.File("checkpoints/000000000003.checkpoint"): j.checkpointBytes(), r.Report: reportBytes,
	} {
		if info, err := os.Stat(path); err != nil || info.Size() > most || most != reportBytes && info.Size() < most-headerBytes {
			t.Errorf("%s: %v, at most %d, %v", path, info.Size(), most, err)
		}
	}
	if n := kept(dir.Path()); n > j.checkpointBytes() || n < j.checkpointBytes()-headerBytes {
		t.Errorf("%d bytes of checkpoints are kept", n)
	}
	full := j.unwritten("model", &os.PathError{Op: "write", Path: r.Model, Err: syscall.ENOSPC})
	if !strings.Contains(full.Error(), "the model could not be written: write ") || !strings.Contains(full.Error(), "; free ") {
		t.Errorf("%v", full)
	}
	if other := j.unwritten("model", os.ErrPermission); strings.Contains(other.Error(), "free") {
		t.Errorf("%v", other)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
