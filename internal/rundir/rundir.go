package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/durable"
)

// Root is the directory under which runs without a given directory are made.
const Root = "runs"

// ErrEarlierRun says that a new run was to go where there is one.
var ErrEarlierRun = errors.New("holds an earlier run already")

// Dir is the directory of one run.
type Dir struct{ path string }

// Error is a run directory that cannot be used, and why.
type Error struct {
	Path  string
	Cause error
}

func (e *Error) Error() string  { return fmt.Sprintf("run directory %s: %v", e.Path, e.Cause) }
func (e *Error) Unwrap() error  { return e.Cause }
func (e *Error) BadInput() bool { return true }

// Create makes the directory of a new run of a verb. With an empty out it is
// the first free runs/VERB-TIME-N under the working directory; else it is out
// itself, which must be absent or empty.
func Create(verb, out string, now time.Time) (Dir, error) {
	if out == "" {
		return createNamed(verb, now)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return Dir{}, fault(out, err)
	}
	if err := mustBeEmpty(out); err != nil {
		return Dir{}, fault(out, err)
	}
	return settle(out)
}

func createNamed(verb string, now time.Time) (Dir, error) {
	if err := os.MkdirAll(Root, 0o755); err != nil {
		return Dir{}, fault(Root, err)
	}
	stem := verb + "-" + now.UTC().Format("20060102-150405") + "-"
	for n := 1; ; n++ {
		path := filepath.Join(Root, fmt.Sprint(stem, n))
		err := os.Mkdir(path, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return Dir{}, fault(path, err)
		}
		return settle(path)
	}
}

// settle makes the new directory's own name durable.
func settle(path string) (Dir, error) {
	if err := durable.SyncDir(filepath.Dir(path)); err != nil {
		return Dir{}, fault(path, err)
	}
	return Dir{path: path}, nil
}

func mustBeEmpty(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.ReadDir(1); err != io.EOF {
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, manifestName)); err == nil {
			return ErrEarlierRun
		}
		return errors.New("is not empty and holds no run")
	}
	return nil
}

// Open finds the directory of an existing run: a directory with a run.json.
func Open(path string) (Dir, error) {
	_, err := os.Stat(filepath.Join(path, manifestName))
	switch {
	case err == nil:
		return Dir{path: path}, nil
	case errors.Is(err, unix.ENOTDIR):
		return Dir{}, fault(path, errors.New("is no directory"))
	case !errors.Is(err, fs.ErrNotExist):
		return Dir{}, fault(path, err)
	}
	if _, err := os.Stat(path); err != nil {
		return Dir{}, fault(path, errors.New("does not exist"))
	}
	return Dir{}, fault(path, errors.New("holds no run (there is no "+manifestName+")"))
}

// Path is the directory as it was given or made.
func (d Dir) Path() string { return d.path }

// File is the path of a file of the run.
func (d Dir) File(name string) string { return filepath.Join(d.path, name) }

// Events is the path of the run's journal of signals and decisions.
func (d Dir) Events() string { return d.File("events.jsonl") }

// Busy tells whether a process is working on the run: whether its journal is locked.
func (d Dir) Busy() bool { return Locked(d.Events()) }

// Locked tells whether a process has the journal at path open.
func Locked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func fault(path string, err error) error {
	// The path stands in the message already.
	var detail *fs.PathError
	if errors.As(err, &detail) && detail.Path == path {
		err = detail.Err
	}
	return &Error{Path: path, Cause: err}
}
