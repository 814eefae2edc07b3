package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// MinTTL is the shortest time to live of a lease. Servers count whole seconds.
const MinTTL = 2 * time.Second

// grace is how much longer than the holder the servers believe in a lease, so
// that their clocks may differ by that much.
const grace = time.Second

// Lease keeps a member entered until Leave, or until it is lost.
type Lease struct {
	c           *Cluster
	entry       write
	ttl         time.Duration
	incarnation uint64

	stop  context.CancelFunc
	ended chan struct{} // the goroutine that renews is gone
	lost  chan struct{}

	mu       sync.Mutex
	err      error
	revision uint64 // of the last renewal
}

// Join enters a name with a value, such as an address, for as long as the
// lease is renewed, which happens three times per time to live (whole seconds,
// at least MinTTL). An entry of the same name is replaced: its lease is lost.
func (c *Cluster) Join(ctx context.Context, name string, value []byte, ttl time.Duration) (*Lease, error) {
	switch {
	case checkKey(name) != nil:
		return nil, fmt.Errorf("member: %w", checkKey(name))
	case len(name)+len(membersKey)+1 > maxKey:
		return nil, &KeyError{name[:32] + "…", "is too long for a member"}
	case ttl < MinTTL || ttl%time.Second != 0:
		return nil, fmt.Errorf("member %s: a lease lasts whole seconds, at least %v, not %v", name, MinTTL, ttl)
	case len(value) > maxValue:
		return nil, fmt.Errorf("member %s: value of %d bytes: at most %d are kept", name, len(value), maxValue)
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	w := write{key: membersKey + "." + name, value: value, ttl: ttl + grace}
	for {
		began := time.Now()
		revision, err := c.compareAndSwap(ctx, w)
		var conflict *ConflictError
		switch {
		case err == nil:
			return c.startLease(w, ttl, revision, began), nil
		case errors.As(err, &conflict):
			w.expected = conflict.Current.Revision
		default:
			return nil, err
		}
	}
}

func (c *Cluster) startLease(w write, ttl time.Duration, revision uint64, began time.Time) *Lease {
	w.incarnation = revision
	ctx, stop := context.WithCancel(c.closing)
	l := &Lease{
		c: c, entry: w, ttl: ttl, incarnation: revision, revision: revision,
		stop: stop, ended: make(chan struct{}), lost: make(chan struct{}),
	}
	c.leases.Add(1)
	go l.keep(ctx, began)
	return l
}

// Incarnation is the number of this entry, larger than that of every entry
// made before it.
func (l *Lease) Incarnation() uint64 { return l.incarnation }

// Lost is closed when the entry is gone or may be gone; Err says why.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err is nil while the lease holds; then it is a *ReplacedError, ErrExpired or
// ErrClosed.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Leave removes the entry.
func (l *Lease) Leave(ctx context.Context) error {
	l.stop()
	<-l.ended
	if err := l.Err(); err != nil && !errors.Is(err, ErrClosed) {
		return nil // nothing is left to remove
	}
	ctx, cancel := l.c.call(ctx)
	defer cancel()
	w := l.entry
	w.expected, w.value, w.remove, w.ttl = l.revision, nil, true, removalTTL
	_, err := l.c.compareAndSwap(ctx, w)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return nil // replaced or expired meanwhile
	}
	return err
}

// keep renews the entry. began is when the last renewal was sent: the servers
// count from a later moment, so the holder never believes in a lease that they
// have ended.
func (l *Lease) keep(ctx context.Context, began time.Time) {
	defer l.c.leases.Done()
	defer close(l.ended)
	defer l.stop()
	for {
		if !pause(ctx, time.Until(began.Add(l.ttl/3))) {
			l.lose(ErrClosed)
			return
		}
		sent := time.Now()
		err := l.renew(ctx, began.Add(l.ttl))
		switch {
		case err == nil:
			began = sent
		case ctx.Err() != nil:
			l.lose(ErrClosed)
			return
		default:
			l.lose(err)
			return
		}
	}
}

// renew repeats until the entry is renewed, is another's, or the deadline is
// over.
func (l *Lease) renew(ctx context.Context, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	w := l.entry
	for {
		w.expected = l.revision
		revision, err := l.c.compareAndSwap(ctx, w)
		if err == nil {
			l.revision = revision
			return nil
		}
		found, readErr := l.c.last(ctx, w.key)
		switch {
		case readErr != nil:
			return ErrExpired
		case found.gone || found.Revision == 0:
			return ErrExpired
		case found.incarnation != l.incarnation:
			return &ReplacedError{w.key[len(membersKey)+1:], found.incarnation}
		}
		l.revision = found.Revision // a renewal whose answer was lost
		if !pause(ctx, retryWait) {
			return ErrExpired
		}
	}
}

func (l *Lease) lose(err error) {
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	close(l.lost)
}
