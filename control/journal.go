package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/durable"
)

// When buffered signals are written to the file: as soon as there are
// flushBytes of them, or flushEvery after the last write as told by the
// signals' own times.
const (
	flushBytes = 32 << 10
	flushEvery = time.Second
)

// Journal is the append-only record of a run. Its methods may be called from
// any goroutine.
//
// Decisions, outcomes, settings and rewinds are written and fsynced before the
// call returns. Signals and points are buffered: a killed process loses what
// the last second or 32 KiB brought, a machine that loses power what followed
// the last decision that the system had not written by itself.
type Journal struct {
	ring *ring
	path string

	mu      sync.Mutex
	file    *os.File // nil for a journal in memory
	size    int64    // of the file's intact content
	buffer  []byte   // whole lines that follow it
	dirty   bool     // a write failed: the file may hold more than size
	written time.Time
	newest  uint64 // largest decision ID
}

// NewJournal makes a journal that is only in memory.
func NewJournal() *Journal { return &Journal{ring: newRing(ringSize)} }

// OpenJournal opens the journal at path for appending and makes it if there is
// none. A tail that a crash tore is cut off; damage before intact lines is a
// [*DamageError]. Only one process may have it open.
func OpenJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j := NewJournal()
	j.file, j.path = file, path
	if err := j.recover(); err != nil {
		file.Close()
		return nil, err
	}
	return j, nil
}

func (j *Journal) recover() error {
	err := unix.Flock(int(j.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: another process writes to this run", j.path)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be locked: %w", j.path, err)
	}
	summary, err := scan(j.file, j.path, func(r Record) error {
		if r.Decision != nil {
			j.newest = max(j.newest, r.Decision.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if summary.Damaged > 0 {
		return &summary.First
	}
	j.size, j.dirty = summary.Size, summary.Torn > 0
	if err := j.sync(); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(j.path))
}

// append adds a record; a durable one is on disk when it returns. On an error
// the record is not part of the journal.
func (j *Journal) append(r Record, durable bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		if err := j.store(&r, durable); err != nil {
			return err
		}
	}
	if r.Decision != nil {
		j.newest = max(j.newest, r.Decision.ID)
	}
	j.ring.add(r)
	return nil
}

func (j *Journal) store(r *Record, durable bool) (err error) {
	start := len(j.buffer)
	j.buffer, err = appendRecord(j.buffer, r)
	if err != nil {
		return err
	}
	length := len(j.buffer) - start
	if durable {
		err = j.sync()
	} else if due := r.time(); len(j.buffer) >= flushBytes || due.Sub(j.written) >= flushEvery {
		j.written = due
		err = j.flush()
	}
	if err != nil {
		j.retract(length)
	}
	return err
}

// retract takes back the newest line, of the given length, after a failure.
func (j *Journal) retract(length int) {
	if len(j.buffer) > 0 {
		j.buffer = j.buffer[:len(j.buffer)-length]
		return
	}
	// It was written but is not known to be on disk.
	j.size -= int64(length)
	j.dirty = true
}

// flush writes the buffered lines. After a failure they stay buffered and the
// next flush writes them over whatever arrived of them.
func (j *Journal) flush() error {
	if j.dirty {
		if err := j.file.Truncate(j.size); err != nil {
			return err
		}
		j.dirty = false
	}
	n, err := j.file.WriteAt(j.buffer, j.size)
	if err != nil {
		j.dirty = true
		return err
	}
	j.size += int64(n)
	j.buffer = j.buffer[:0]
	return nil
}

func (j *Journal) sync() error {
	if err := j.flush(); err != nil {
		return err
	}
	return j.file.Sync()
}

// Sync writes and syncs what is buffered, so that it is on disk before
// something that rests on it, such as a checkpoint.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	return j.sync()
}

// newestDecision returns the largest ID of a decision in the journal.
func (j *Journal) newestDecision() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.newest
}

// Follow starts a follower of the records that this process adds.
func (j *Journal) Follow() *Follower { return &Follower{ring: j.ring} }

// Close writes and syncs what is buffered, closes the file and ends the
// followers once they have read everything.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ring.close()
	if j.file == nil {
		return nil
	}
	err := j.sync()
	if failed := j.file.Close(); err == nil {
		err = failed
	}
	j.file = nil
	return err
}
