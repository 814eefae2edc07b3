package steplog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"millrace.dev/internal/durable"
)

// Options bounds a log. The zero value keeps 16 segments of 16 MiB, some 300 000 steps of 8 workers.
type Options struct {
	Segment int64 // bytes from which a new segment begins
	Keep    int   // segments
}

func (o Options) filled() Options {
	if o.Segment <= 0 {
		o.Segment = 16 << 20
	}
	if o.Keep <= 0 {
		o.Keep = 16
	}
	return o
}

// Writer appends records to a log. Its methods may be called from any goroutine.
type Writer struct {
	dir     string
	options Options

	mu     sync.Mutex
	file   *os.File
	number int   // of the segment
	size   int64 // of its intact lines
	dirty  bool  // a write failed: the file may hold more than size
	line   []byte
}

// Open opens the log in a directory, which it makes if there is none, for appending. A tail that a
// crash tore is cut off. Only one process may have it open.
func Open(dir string, options Options) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, options: options.filled()}
	names, err := segments(dir)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return w, w.next()
	}
	last := names[len(names)-1]
	size, err := scan(last, func(Record) bool { return true })
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Sscanf(filepath.Base(last), pattern, &w.number); err != nil {
		return nil, fmt.Errorf("%s: %w", last, err)
	}
	w.file, err = os.OpenFile(last, os.O_RDWR, 0)
	w.size, w.dirty = size, true
	return w, err
}

// Append writes one record. After an error the record is not in the log and the writer can go on.
func (w *Writer) Append(r *Record) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return fmt.Errorf("step log %s: %w", w.dir, os.ErrClosed)
	}
	if w.line, err = appendLine(w.line[:0], r); err != nil {
		return err
	}
	if w.size > 0 && w.size+int64(len(w.line)) > w.options.Segment {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	if w.dirty {
		if err := w.file.Truncate(w.size); err != nil {
			return err
		}
		w.dirty = false
	}
	if _, err := w.file.WriteAt(w.line, w.size); err != nil {
		w.dirty = true
		return err
	}
	w.size += int64(len(w.line))
	return nil
}

// rotate ends the segment, begins the next and removes the oldest.
func (w *Writer) rotate() error {
	if err := w.seal(); err != nil {
		return err
	}
	if err := w.next(); err != nil {
		return err
	}
	names, err := segments(w.dir)
	if err != nil {
		return err
	}
	for _, old := range names[:max(len(names)-w.options.Keep, 0)] {
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}

// next begins a new segment; on an error the one before it stays in use.
func (w *Writer) next() error {
	path := filepath.Join(w.dir, fmt.Sprintf(pattern, w.number+1))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if w.file != nil {
		w.file.Close() // synced by seal
	}
	w.file, w.number, w.size, w.dirty = file, w.number+1, 0, false
	return durable.SyncDir(w.dir)
}

// seal cuts off a torn line and syncs.
func (w *Writer) seal() error {
	if w.dirty {
		if err := w.file.Truncate(w.size); err != nil {
			return err
		}
		w.dirty = false
	}
	return w.file.Sync()
}

// Sync makes what was appended survive the loss of power.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	return w.seal()
}

// Close syncs and closes the log.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.seal()
	if failed := w.file.Close(); err == nil {
		err = failed
	}
	w.file = nil
	return err
}

const pattern = "steps-%06d.log"

// segments lists the files of a log, the oldest first.
func segments(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "steps-[0-9][0-9][0-9][0-9][0-9][0-9].log"))
	slices.Sort(names)
	return names, err
}
