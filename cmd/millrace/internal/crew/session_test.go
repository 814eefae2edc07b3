package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"millrace.dev/control"
	"millrace.dev/group/steplog"
	"millrace.dev/internal/rundir"
)

// newRun makes the directory of a run.
func newRun(t *testing.T) rundir.Dir {
	t.Helper()
	dir, err := rundir.Create("train", filepath.Join(t.TempDir(), "run"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// addSession makes a session that goes on from a step, with logs and journals of workers.
func addSession(t *testing.T, dir rundir.Dir, from int, workers map[string][]uint64, decided ...uint64) {
	t.Helper()
	s, err := openSession(t.Context(), dir, Setup{Workers: len(workers)}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	s.From = from
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.path, sessionFile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, steps := range workers {
		w, err := steplog.Open(filepath.Join(s.worker(name), stepsDir), steplog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range steps {
			lo := 10 * (n - 1) % 40
			r := steplog.Record{Step: n, DataEpoch: (n - 1) / 4, View: 1, Parts: []steplog.Part{{Name: "w0", Samples: 10, Ranges: []steplog.Range{{lo, lo + 10}}}}}
			if err := w.Append(&r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		decide(t, filepath.Join(s.worker(name), eventsFile), decided...)
	}
	s.close(dir)
}

// decide writes a journal with decisions at points.
func decide(t *testing.T, path string, points ...uint64) {
	t.Helper()
	j, err := control.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := control.NewLoop(j, control.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		d := control.Taken{Policy: "view change", Subject: "workers", Proposal: control.Proposal{New: control.Number(float64(p))}}
		if err := l.Take(d, p, time.Unix(int64(p), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func steps(from, to uint64) (list []uint64) {
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}

// TestSessions puts together what several sessions have left: steps that a later session took again
// count no more, nor what was decided after them.
func TestSessions(t *testing.T) {
	dir := newRun(t)
	if _, crewed, err := LastTime(dir); crewed || err != nil {
		t.Fatalf("a new run was trained by workers: %v", err)
	}
	addSession(t, dir, 0, map[string][]uint64{"w0": steps(1, 5), "w1": steps(1, 9)}, 2, 7)
	addSession(t, dir, 6, map[string][]uint64{"w0": steps(7, 12)}, 6, 9)
	if err := os.Mkdir(filepath.Join(dir.File(workersDir), "3"), 0o755); err != nil { // killed at once
		t.Fatal(err)
	}
	setup, crewed, err := LastTime(dir)
	if err != nil || !crewed || setup.Workers != 1 {
		t.Errorf("the last time: %+v, %v, %v", setup, crewed, err)
	}
	all, gap, err := history(dir)
	if err != nil || gap != nil || len(all) != 12 {
		t.Fatalf("%d steps, %v", len(all), err)
	}
	if epochs, err := used(all, 40); epochs != 3 || err != nil {
		t.Errorf("%d epochs, %v", epochs, err)
	}
	decisions, _, err := Decisions(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, d := range decisions {
		got += fmt.Sprintf("%d@%d undone=%v; ", d.ID, d.Point, d.Undone)
	}
	if want := "1@2 undone=false; 2@6 undone=false; 3@7 undone=true; 4@9 undone=false; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// A gap in what a later session took again does not matter, one that counts does.
	addSession(t, dir, 12, map[string][]uint64{"w0": append(steps(13, 14), 16)})
	all, gap, err = history(dir)
	if want := "no log has the steps from 15 to 15: the 14 steps before are proven, what came after is not"; err != nil || gap == nil || gap.Error() != want || len(all) != 14 {
		t.Errorf("a gap at the end: %v, %v, %d steps", gap, err, len(all))
	}
	addSession(t, dir, 14, map[string][]uint64{"w0": steps(15, 17)})
	if all, gap, err := history(dir); err != nil || gap != nil || len(all) != 17 {
		t.Errorf("%d steps, %v, %v", len(all), gap, err)
	}
	for _, text := range []string{"{", `{"workers": 1000000000}`, `{"from": -1}`} {
		if err := os.WriteFile(filepath.Join(dir.File(workersDir), "2", sessionFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := sessions(dir); err == nil || !strings.Contains(err.Error(), dir.Path()) {
			t.Errorf("the session %s: %v", text, err)
		}
	}
}

func TestOneSessionAtATime(t *testing.T) {
	dir := newRun(t)
	s, err := openSession(t.Context(), dir, Setup{Workers: 2}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openSession(t.Context(), dir, Setup{}, t.Logf); err == nil || !strings.Contains(err.Error(), "another process writes to this run") {
		t.Errorf("a second session at the same time: %v", err)
	}
	s.close(dir)
	if s, err = openSession(t.Context(), dir, Setup{}, t.Logf); err != nil {
		t.Fatal(err)
	}
	s.close(dir)
}

// TestOrphans begins a session while a worker of the one before, whose launcher was killed, still writes to the run.
func TestOrphans(t *testing.T) {
	dir := newRun(t)
	s, err := openSession(t.Context(), dir, Setup{Workers: 2}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.worker("w1"), 0o755); err != nil {
		t.Fatal(err)
	}
	orphan, err := control.OpenJournal(filepath.Join(s.worker("w1"), eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	s.close(dir)
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := openSession(short, dir, Setup{}, t.Logf); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "worker w1 of before has not ended") {
		t.Errorf("with an orphan: %v", err)
	}
	time.AfterFunc(200*time.Millisecond, func() { orphan.Close() }) //nolint:errcheck // it is empty
	if s, err = openSession(t.Context(), dir, Setup{}, t.Logf); err != nil {
		t.Fatal(err)
	}
	s.close(dir)
}

func TestUsed(t *testing.T) {
	step := func(n, epoch uint64, ranges ...steplog.Range) steplog.Record {
		return steplog.Record{Step: n, DataEpoch: epoch, Parts: []steplog.Part{{Ranges: ranges}}}
	}
	for _, c := range []struct {
		steps []steplog.Record
		want  string
	}{
		{[]steplog.Record{step(1, 0, steplog.Range{0, 6}), step(2, 0, steplog.Range{6, 10}), step(3, 1, steplog.Range{0, 3})}, ""},
		{[]steplog.Record{step(1, 0, steplog.Range{0, 6}), step(2, 0, steplog.Range{5, 10})}, "step 2 of epoch 1 used sample 5 a second time"},
		{[]steplog.Record{step(1, 0, steplog.Range{0, 6}), step(2, 1, steplog.Range{0, 10})}, "epoch 1 used 6 of 10 samples"},
		{[]steplog.Record{step(1, 0, steplog.Range{8, 11})}, "used sample 10, but there are 10"},
	} {
		_, err := used(c.steps, 10)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
