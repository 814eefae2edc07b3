package control

import (
	"context"
	"errors"
	"sync"
)

// ringSize is the number of records that a journal keeps for live readers.
const ringSize = 2048

// errClosed ends a follower whose journal was closed.
var errClosed = errors.New("the journal is closed")

// ring holds the newest records of a journal. Adding one never waits for a
// reader.
type ring struct {
	mu      sync.Mutex
	changed sync.Cond
	records []Record
	next    uint64 // number of records ever added
	closed  bool
}

func newRing(size int) *ring {
	r := &ring{records: make([]Record, size)}
	r.changed.L = &r.mu
	return r
}

func (r *ring) add(record Record) {
	r.mu.Lock()
	r.records[r.next%uint64(len(r.records))] = record
	r.next++
	r.mu.Unlock()
	r.changed.Broadcast()
}

func (r *ring) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.changed.Broadcast()
}

// Follower reads the records of a live journal, from the oldest that is still
// in memory on. It is for one goroutine.
type Follower struct {
	ring *ring
	next uint64
}

// Next copies at least one record into dst, which must not be empty, and
// returns how many. It waits until there is one, the context ends or the
// journal is closed ([Closed] then reports true for the error). lost is the
// number of records that were overwritten before this follower came to them.
func (f *Follower) Next(ctx context.Context, dst []Record) (n int, lost uint64, err error) {
	stop := context.AfterFunc(ctx, f.ring.wake)
	defer stop()
	r := f.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	for f.next == r.next {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if r.closed {
			return 0, 0, errClosed
		}
		r.changed.Wait()
	}
	if size := uint64(len(r.records)); r.next-f.next > size {
		lost = r.next - size - f.next
		f.next += lost
	}
	for n < len(dst) && f.next < r.next {
		dst[n] = r.records[f.next%uint64(len(r.records))]
		n++
		f.next++
	}
	return n, lost, nil
}

// wake lets every waiting follower look at its context. The lock makes sure
// that none of them is between looking and waiting.
func (r *ring) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed.Broadcast()
}

// Closed reports whether a follower ended because its journal was closed.
func Closed(err error) bool { return errors.Is(err, errClosed) }
