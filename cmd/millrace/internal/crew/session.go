package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"millrace.dev/control"
	"millrace.dev/internal/durable"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/job"
)

// session is the work of one launcher on a run, with a directory of its own: workers/1, workers/2, and
// so on. It goes on from the newest checkpoint, so steps that an earlier session took after that one
// count no more.
type session struct {
	From int `json:"from"` // steps of the run that count before it
	Setup

	path string           // of its directory
	lock *control.Journal // the run's, held open so that no other process works on the run
}

// Setup is what a later session of the same run does as well unless it is told otherwise.
type Setup struct {
	Workers   int  `json:"workers"`              // how many to hold
	PerWorker bool `json:"per_worker,omitempty"` // the batch is that of each worker
	Majority  bool `json:"majority,omitempty"`   // a majority of the members decides about views, not a service
}

// Names within a run's directory.
const (
	workersDir  = "workers"
	sessionFile = "session.json"
	eventsFile  = "events.jsonl"
	stepsDir    = "steps"
	stderrFile  = "stderr.txt" // what a worker that was lost has said last
)

// LastTime tells how the run in a directory was worked on, and whether several workers did.
func LastTime(dir rundir.Dir) (s Setup, crewed bool, err error) {
	list, err := sessions(dir)
	if err != nil || len(list) == 0 {
		return s, false, err
	}
	return list[len(list)-1].Setup, true, nil
}

// openSession begins a session on a run, which no other process may be working on. It waits for workers of an earlier
// session whose launcher was killed: they save, and then end.
func openSession(ctx context.Context, dir rundir.Dir, setup Setup, remark func(format string, args ...any)) (s session, err error) {
	s.Setup = setup
	if s.lock, err = control.OpenJournal(dir.Events()); err != nil {
		return s, &rundir.Error{Path: dir.Path(), Cause: err}
	}
	defer func() {
		if err != nil {
			s.close(dir)
		}
	}()
	if err := awaitOrphans(ctx, dir, remark); err != nil {
		return s, err
	}
	job.Tidy(dir)
	at, _, err := job.Reached(dir)
	if err != nil {
		return s, err
	}
	s.From = at.Step
	numbers, err := sessionNumbers(dir)
	if err != nil {
		return s, err
	}
	number := 1
	if len(numbers) > 0 {
		number += slices.Max(numbers)
	}
	s.path = filepath.Join(dir.File(workersDir), strconv.Itoa(number))
	if err := os.MkdirAll(s.path, 0o755); err != nil {
		return s, &rundir.Error{Path: dir.Path(), Cause: err}
	}
	err = durable.WriteFile(filepath.Join(s.path, sessionFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
	return s, err
}

// awaitOrphans waits until no worker of earlier sessions writes to a run any more. One that is stopped never ends: the wait ends
// with ctx.
func awaitOrphans(ctx context.Context, dir rundir.Dir, remark func(format string, args ...any)) error {
	list, err := sessions(dir)
	if err != nil {
		return err
	}
	for i := range list {
		for _, journal := range list[i].journals() {
			name := filepath.Base(filepath.Dir(journal))
			for told := false; rundir.Locked(journal); told = true {
				if !told {
					remark("waiting for worker %s, which a killed launcher has left, to save and end", name)
				}
				select {
				case <-ctx.Done():
					return &rundir.Error{Path: dir.Path(), Cause: fmt.Errorf("worker %s of before has not ended: %w", name, context.Cause(ctx))}
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	}
	return nil
}

// close lets others work on the run.
func (s *session) close(dir rundir.Dir) {
	if s.lock != nil {
		_ = os.Remove(dir.File(groupFile))
		_ = s.lock.Close() // nothing was written
		s.lock = nil
	}
}

// sessionNumbers lists the directories of a run's sessions.
func sessionNumbers(dir rundir.Dir) (numbers []int, err error) {
	entries, err := os.ReadDir(dir.File(workersDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &rundir.Error{Path: dir.Path(), Cause: err}
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.IsDir() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// maxSession bounds the file of a session that is read.
const maxSession = 64 << 10

// sessions reads those of a run, the first one first.
func sessions(dir rundir.Dir) (list []session, err error) {
	numbers, err := sessionNumbers(dir)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		s := session{path: filepath.Join(dir.File(workersDir), strconv.Itoa(n))}
		text, err := readBounded(filepath.Join(s.path, sessionFile), maxSession)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was killed before it had workers
		}
		if err == nil {
			err = s.read(text)
		}
		if err != nil {
			return nil, &rundir.Error{Path: dir.Path(), Cause: fmt.Errorf("%s: %w", s.path, err)}
		}
		list = append(list, s)
	}
	return list, nil
}

// read takes what a file of a session holds.
func (s *session) read(text []byte) error {
	if err := json.Unmarshal(text, s); err != nil {
		return err
	}
	if s.From < 0 || s.Workers < 0 || s.Workers > MaxWorkers {
		return fmt.Errorf("%d workers from step %d on cannot be", s.Workers, s.From)
	}
	return nil
}

func readBounded(path string, most int64) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, most))
}

// worker is the directory of a worker of the session.
func (s *session) worker(name string) string { return filepath.Join(s.path, name) }

// logs lists the directories of the workers' logs of steps.
func (s *session) logs() []string {
	paths, _ := filepath.Glob(filepath.Join(s.path, "*", stepsDir))
	return paths
}

// journals lists the workers' journals.
func (s *session) journals() []string {
	paths, _ := filepath.Glob(filepath.Join(s.path, "*", eventsFile))
	return paths
}

// spent is how long the session went on.
func (s *session) spent() (most time.Duration, err error) {
	for _, path := range s.journals() {
		d, err := job.Spent(path)
		if err != nil {
			return 0, err
		}
		most = max(most, d)
	}
	return most, nil
}

// spentBefore is how long all processes have worked on a run before its last session.
func spentBefore(dir rundir.Dir) (time.Duration, error) {
	sum, err := job.Spent(dir.Events()) // of the time when it was trained alone
	if err != nil {
		return 0, err
	}
	list, err := sessions(dir)
	if err != nil {
		return 0, err
	}
	for i := range max(len(list)-1, 0) {
		d, err := list[i].spent()
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}
