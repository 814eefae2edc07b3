package shm

import (
	"context"
	"net"
	"os"
	"sync"
	"time"

	"millrace.dev/internal/unixsock"
)

const (
	// patience bounds how long a member waits for one that neither shows its memory nor says that it cannot.
	patience = 5 * time.Second
	// maxVisits bounds the peers whose offers wait to be taken.
	maxVisits = 1024
	// maxFiles is the most files that come with an offer.
	maxFiles = 2
)

// Door is where a worker's peers hand in the files that they show it. A worker opens it before others know of it, and
// closes it after all its teams and comms.
type Door struct {
	id       uint64
	patience time.Duration // of Attach and Join
	listener *net.UnixListener
	stock    stock

	attaching chan struct{} // holds a token while Attach runs

	mu      sync.Mutex
	closed  bool
	change  chan struct{} // closed and replaced when visits change
	visits  map[visitKey]*visit
	inside  map[*net.UnixConn]struct{}
	workers sync.WaitGroup
}

type visitKey struct {
	use         use
	epoch, from uint64
}

// visit is a peer's offer. The files are the taker's, or closed with the visit.
type visit struct {
	offer   offer
	fds     []int
	verdict verdict
}

// verdict is what a peer says after it has tried to map everybody's files.
type verdict byte

const (
	pending verdict = iota
	agreed
	failed
)

// Open opens the door of the worker of incarnation id. Where workers cannot share memory at all the error is a
// *NotSupportedError.
func Open(id uint64) (*Door, error) {
	addr := doorAddr(id)
	if addr == nil {
		return nil, unsupported("passing of memory between processes", nil)
	}
	listener, err := net.ListenUnix("unix", addr)
	if err != nil {
		return nil, unsupported("passing of memory between processes", err)
	}
	d := &Door{
		id: id, patience: patience, listener: listener, change: make(chan struct{}),
		visits: map[visitKey]*visit{}, inside: map[*net.UnixConn]struct{}{},
		stock: stock{vectors: map[uint64]*mapping{}}, attaching: make(chan struct{}, 1),
	}
	d.workers.Add(1)
	go d.listen()
	return d, nil
}

// Prepare makes memory in the background for a view of so many members that is to come.
func (d *Door) Prepare(elements, members int) {
	d.stock.prepare(newLayout(elements, os.Getpagesize(), members).shareBytes())
}

// Close refuses what comes, frees what nobody took, and waits for the door's goroutines.
func (d *Door) Close() error {
	d.mu.Lock()
	d.closed = true
	err := d.listener.Close()
	for c := range d.inside {
		c.Close() //nolint:errcheck // its goroutine sees an error
	}
	for key, v := range d.visits {
		unixsock.CloseFiles(v.fds)
		delete(d.visits, key)
	}
	d.changed()
	d.mu.Unlock()
	d.workers.Wait()
	d.stock.close()
	return err
}

// changed wakes who waits for visits. d.mu is held.
func (d *Door) changed() {
	close(d.change)
	d.change = make(chan struct{})
}

func (d *Door) listen() {
	defer d.workers.Done()
	for {
		c, err := d.listener.AcceptUnix()
		if err != nil {
			d.mu.Lock()
			closed := d.closed
			d.mu.Unlock()
			if closed {
				return
			}
			time.Sleep(time.Millisecond) // out of descriptors
			continue
		}
		d.mu.Lock()
		if d.closed || len(d.inside) >= maxVisits {
			c.Close() //nolint:errcheck // refused
		} else {
			d.inside[c] = struct{}{}
			d.workers.Add(1)
			go d.receive(c)
		}
		d.mu.Unlock()
	}
}

// receive takes one peer's offer and verdict.
func (d *Door) receive(c *net.UnixConn) {
	defer d.workers.Done()
	defer func() {
		c.Close() //nolint:errcheck // all has been read
		d.mu.Lock()
		delete(d.inside, c)
		d.mu.Unlock()
	}()
	c.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // fails on closed connections only
	if unixsock.CheckUser(c) != nil {
		return
	}
	var message [offerSize]byte
	fds, err := receiveFiles(c, message[:], maxFiles)
	if err != nil {
		return
	}
	o, err := parseOffer(message[:])
	if err != nil || o.to != d.id || len(fds) != o.files() || !d.enter(o, fds) {
		unixsock.CloseFiles(fds)
		return
	}
	c.SetDeadline(time.Time{}) //nolint:errcheck // as above; who is slow to agree has not failed
	var last [1]byte
	if n, _ := c.Read(last[:]); n == 1 && verdict(last[0]) == agreed {
		d.conclude(o.key(), agreed)
	} else {
		d.conclude(o.key(), failed)
	}
}

func (o *offer) key() visitKey { return visitKey{o.use, o.epoch, o.from} }

func (d *Door) enter(o offer, fds []int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, twice := d.visits[o.key()]; d.closed || twice || len(d.visits) >= maxVisits {
		return false
	}
	d.visits[o.key()] = &visit{offer: o, fds: fds}
	d.changed()
	return true
}

func (d *Door) conclude(key visitKey, v verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if visit := d.visits[key]; visit != nil {
		visit.verdict = v
		d.changed()
	}
}

// await waits until pick is content with a peer's visit.
func (d *Door) await(ctx context.Context, key visitKey, pick func(*visit) bool) error {
	for {
		d.mu.Lock()
		v, change, closed := d.visits[key], d.change, d.closed
		content := v != nil && pick(v)
		d.mu.Unlock()
		switch {
		case content:
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// forget drops the visits of a use for epochs up to one.
func (d *Door) forget(u use, epoch uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, v := range d.visits {
		if key.use == u && key.epoch <= epoch {
			unixsock.CloseFiles(v.fds)
			delete(d.visits, key)
		}
	}
}
