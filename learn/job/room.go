package job

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"millrace.dev/internal/host"
	"millrace.dev/internal/rundir"
)

// What the files of a run take besides its weights, about.
const (
	headerBytes  = 64 << 10 // what a checkpoint or model holds besides numbers
	reportBytes  = 1 << 20  // curves and report
	epochBytes   = 300      // of an epoch in a checkpoint
	journalBytes = 2 << 10  // of an epoch in the journal
	manyEpochs   = 4096     // more are seldom trained to the end
)

// epochs is how many epochs count for the room.
func (j *Job) epochs() int64 {
	return int64(min(j.SamplesInAll()/j.Samples+1, manyEpochs))
}

// modelBytes is how large the model's file will be.
func (j *Job) modelBytes() int64 {
	return 4*int64(j.Net.NumParams()+j.Net.NumStates()) + headerBytes
}

// checkpointBytes is how large a checkpoint will be.
func (j *Job) checkpointBytes() int64 {
	weights := int64(j.Net.NumParams() + j.Net.NumStates())
	n := weights + int64(j.Net.NumParams()*j.config.Optimizer.Rule.Slots())
	if j.config.Stop != nil {
		n += weights // the best ones
	}
	return 4*n + headerBytes + j.epochs()*epochBytes
}

// roomBytes is how much the run's directory takes at most: the two checkpoints that are kept and
// the one that is being written, the model, and the report.
func (j *Job) roomBytes() int64 {
	return 3*j.checkpointBytes() + j.modelBytes() + reportBytes + j.epochs()*journalBytes
}

// RoomError says that a run's files do not fit on the file system.
type RoomError struct {
	Path         string // of the run's directory
	Needed, Free int64  // bytes
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("run directory %s: the run takes up to %s, %s are free on the file system: free %s more",
		e.Path, mebibytes(e.Needed), mebibytes(e.Free), mebibytes(e.Needed-e.Free))
}

// BadInput marks the error as the fault of the directory that was asked for.
func (e *RoomError) BadInput() bool { return true }

// mebibytes writes a size rounded up, so that what is asked for is enough.
func mebibytes(n int64) string {
	return fmt.Sprintf("%.1f MiB", math.Ceil(float64(n)/(1<<20)*10)/10)
}

// CheckRoom compares the free space with what the run will write into a directory, which need not
// exist yet; "" stands for one under rundir.Root. Where free space cannot be told it is taken
// for enough.
func (j *Job) CheckRoom(path string) error {
	if path == "" {
		path = rundir.Root
	}
	needed := j.roomBytes() - kept(path)
	if free, known := freeBytes(path); known && free < needed {
		return &RoomError{path, needed, free}
	}
	return nil
}

// kept is what the run's checkpoints take already.
func kept(path string) int64 {
	paths, _ := filepath.Glob(filepath.Join(path, checkpointsDir, "*"))
	n := int64(0)
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			n += info.Size()
		}
	}
	return n
}

// freeBytes is the space on the file system that holds a path, or will.
func freeBytes(path string) (free int64, known bool) {
	for {
		space, err := host.DiskSpace(path)
		if err == nil {
			return int64(min(space.Free, 1<<62)), true
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return 0, false
		}
		path = parent
	}
}

// WriteError says which of a run's results could not be written. The run is trained: resumed, it
// writes them.
type WriteError struct {
	What string // "model", "curves", "report"
	Free int64  // bytes to free first; 0 when space is not what is missing
	Err  error
}

func (e *WriteError) Error() string {
	text := fmt.Sprintf("the %s could not be written: %v", e.What, e.Err)
	if e.Free > 0 {
		text += "; free " + mebibytes(e.Free)
	}
	return text
}

func (e *WriteError) Unwrap() error { return e.Err }

// unwritten makes a WriteError of an error, if there is one.
func (j *Job) unwritten(what string, err error) error {
	if err == nil {
		return nil
	}
	failed := &WriteError{What: what, Err: err}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		failed.Free = j.modelBytes() + reportBytes
		var short *RoomError
		if errors.As(j.CheckRoom(j.dir.Path()), &short) {
			failed.Free = short.Needed - short.Free // what a resume will ask for
		}
	}
	return failed
}
