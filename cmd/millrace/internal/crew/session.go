package crew

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"millrace.dev/control"
	"millrace.dev/internal/durable"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/job"
)

// session is the work of one launcher on a run. It goes on from the newest checkpoint, so steps that
// an earlier session took after that one count no more.
type session struct {
	From        int `json:"from"`         // steps of the run that count before it
	FirstWorker int `json:"first_worker"` // number of its first worker; it ends where the next one begins
	Past

	journal *control.Journal // held open, so that no other process works on the run
}

// Past is what a later session of the same run does as well unless it is told otherwise.
type Past struct {
	Workers   int  `json:"workers"`
	PerWorker bool `json:"per_worker,omitempty"`
	Majority  bool `json:"majority,omitempty"` // a majority of the members decides about views
}

// LastTime tells how the run in a directory was worked on, and whether several workers did.
func LastTime(dir rundir.Dir) (p Past, crewed bool, err error) {
	list, err := sessions(dir)
	if err != nil || len(list) == 0 {
		return p, false, err
	}
	return list[len(list)-1].Past, true, nil
}

const sessionsFile = "sessions.json"

// maxSessions bounds the file of sessions that is read.
const maxSessions = 4 << 20

// openSession begins a session on a run, which no other process may be working on.
func openSession(dir rundir.Dir, p Past) (s session, err error) {
	s.Past = p
	if s.journal, err = control.OpenJournal(dir.Events()); err != nil {
		return s, &rundir.Error{Path: dir.Path(), Cause: err}
	}
	defer func() {
		if err != nil {
			_ = s.journal.Close() // nothing was written
		}
	}()
	at, err := job.Reached(dir)
	if err != nil {
		return s, err
	}
	earlier, err := sessions(dir)
	if err != nil {
		return s, err
	}
	if err := os.MkdirAll(dir.File(workersDir), 0o755); err != nil {
		return s, &rundir.Error{Path: dir.Path(), Cause: err}
	}
	s.From, s.FirstWorker = at.Step, firstFree(dir)
	err = durable.WriteFile(filepath.Join(dir.File(workersDir), sessionsFile), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(append(earlier, s))
	})
	return s, err
}

// sessions reads those of a run, the first one first.
func sessions(dir rundir.Dir) ([]session, error) {
	path := filepath.Join(dir.File(workersDir), sessionsFile)
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var list []session
	if err := json.NewDecoder(io.LimitReader(in, maxSessions)).Decode(&list); err != nil {
		return nil, &rundir.Error{Path: dir.Path(), Cause: fmt.Errorf("%s: %w", path, err)}
	}
	return list, nil
}

// firstFree is the number of the first worker of a new session.
func firstFree(dir rundir.Dir) int {
	next := 0
	for n := range workers(dir) {
		next = max(next, n+1)
	}
	return next
}

// workers gives the directories of a run's workers by number.
func workers(dir rundir.Dir) map[int]string {
	paths, _ := filepath.Glob(filepath.Join(dir.File(workersDir), "w*"))
	found := map[int]string{}
	for _, p := range paths {
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(p), "w")); err == nil && n >= 0 {
			found[n] = p
		}
	}
	return found
}
