package sim

import (
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/fabric/internal/flow"
)

// item is a frame on its way.
type item struct {
	priority fabric.Priority
	h        fabric.Header
	body     []byte
	done     func(error)
}

func (i *item) size() int { return fabric.HeaderSize + len(i.body) }

// conn is one end of a connection.
type conn struct {
	host    *Host
	peer    *conn // the other end, nil until open
	remote  string
	named   string // the peer's name, once known
	handler fabric.Handler
	open    bool // frames may go
	closed  bool
	cause   error

	credit  flow.Credit
	waiting [2][]item     // by priority
	queued  [2]int        // bytes of them
	busy    bool          // a frame takes its time on the wire
	last    time.Duration // when what was sent last arrives
	held    []func()      // arrivals that a partition holds
	stall   uint64        // number of the stall, for its timeout
	stats   fabric.Stats
}

func (h *Host) newConn(remote string, handler fabric.Handler) *conn {
	c := &conn{host: h, remote: remote, handler: handler}
	c.credit.Open(window, fabric.HeaderSize+fabric.MaxBulk)
	c.credit.Allow(window)
	if len(h.conns) >= 16 && len(h.conns) == cap(h.conns) {
		h.conns = slices.DeleteFunc(h.conns, func(c *conn) bool { return c.closed })
	}
	h.conns = append(h.conns, c)
	return c
}

// Send implements fabric.Conn.
func (c *conn) Send(p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	w := c.host.world
	w.mu.Lock()
	defer w.mu.Unlock()
	h.Length = uint32(len(body))
	i := item{p, h, body, done}
	limit := flow.MaxControlWait
	if p == fabric.Bulk {
		limit = flow.MaxBulkWait
	}
	switch {
	case c.closed:
		c.after(i.done, c.cause)
		return
	case len(body) > p.Limit():
		c.end(&fabric.LimitError{Priority: p, Length: len(body)})
	case c.queued[p]+i.size() > limit:
		c.end(fabric.ErrQueueFull)
	default:
		c.waiting[p] = append(c.waiting[p], i)
		c.queued[p] += i.size()
		c.pump()
		return
	}
	c.after(i.done, c.cause)
}

// after plans a done function.
func (c *conn) after(done func(error), err error) {
	if done != nil {
		c.host.world.after(0, c.host, func() { done(err) })
	}
}

// pump sends what may be sent now.
func (c *conn) pump() {
	for c.open && !c.closed && !c.busy {
		p := fabric.Control
		if len(c.waiting[p]) == 0 {
			p = fabric.Bulk
			if len(c.waiting[p]) == 0 || !c.credit.Take(c.waiting[p][0].size()) {
				return
			}
		}
		i := c.waiting[p][0]
		c.waiting[p][0] = item{}
		c.waiting[p] = c.waiting[p][1:]
		c.queued[p] -= i.size()
		w := c.host.world
		rate := w.linkOf(c.host.name, c.peer.host.name).Bandwidth
		if rate == 0 {
			c.emit(i)
			continue
		}
		c.busy = true
		w.after(time.Duration(float64(i.size())/rate*float64(time.Second)), nil, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			c.busy = false
			if c.closed {
				c.after(i.done, c.cause)
				return
			}
			c.emit(i)
			c.pump()
		})
	}
}

// emit puts a frame on the wire.
func (c *conn) emit(i item) {
	w := c.host.world
	i.body = slices.Clone(i.body)
	c.after(i.done, nil)
	i.done = nil
	c.stats.FramesSent++
	c.stats.BytesSent += uint64(i.size())
	if link := w.linkOf(c.host.name, c.peer.host.name); link.Reset > 0 && w.random.Float64() < link.Reset {
		c.tell("reset", syscall.ECONNRESET)
		c.fail(syscall.ECONNRESET)
		return
	}
	to := c.peer
	c.pass(func() { w.on(to.host, func() { to.deliver(i) }); c.bounce(to) })
}

// bounce resets a connection whose other end is closed when something comes.
func (c *conn) bounce(to *conn) {
	w := c.host.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if to.closed && !c.closed && !to.host.vanished {
		to.tell("reset", syscall.ECONNRESET)
	}
}

// pass lets something arrive at the other end, after all that went before.
func (c *conn) pass(arrive func()) {
	w := c.host.world
	c.last = max(c.last, w.now+w.delay(w.linkOf(c.host.name, c.peer.host.name)))
	w.after(c.last-w.now, nil, func() {
		w.mu.Lock()
		if len(c.held) > 0 || w.blocked(c.host, c.peer.host) {
			c.hold(arrive)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		arrive()
	})
}

// hold keeps an arrival until nothing blocks it. The sender gives up in time.
func (c *conn) hold(arrive func()) {
	w := c.host.world
	c.held = append(c.held, arrive)
	if len(c.held) > 1 {
		return
	}
	w.stalled = append(w.stalled, c)
	c.stall++
	stall := c.stall
	w.after(UserTimeout, c.host, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.stall == stall && len(c.held) > 0 && !c.closed {
			w.record("timeout", c.host, c.peer.host, fabric.Header{})
			c.held = c.held[:1]
			c.held[0] = func() {}
			c.fail(fmt.Errorf("%s: %w", c.remote, syscall.ETIMEDOUT))
		}
	})
}

// tell lets the other end learn that this one is closed.
func (c *conn) tell(kind string, err error) {
	w := c.host.world
	to := c.peer
	w.record(kind, c.host, to.host, fabric.Header{})
	c.pass(func() {
		w.on(to.host, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !to.closed {
				to.fail(err)
			}
		})
	})
}

// deliver takes a frame.
func (c *conn) deliver(i item) {
	w := c.host.world
	w.mu.Lock()
	if c.closed {
		w.mu.Unlock()
		return
	}
	w.record("frame", c.peer.host, c.host, i.h)
	c.stats.FramesReceived++
	c.stats.BytesReceived += uint64(i.size())
	var err error
	if i.priority == fabric.Bulk {
		err = c.credit.Came(i.size())
	}
	w.mu.Unlock()
	if err == nil {
		err = c.hand(i)
	}
	if err != nil {
		c.Close(err)
	} else if i.priority == fabric.Bulk {
		c.free(i.size())
	}
}

// hand gives a frame to the handler.
func (c *conn) hand(i item) error {
	var body []byte
	if len(i.body) > 0 {
		var err error
		if body, err = c.handler.Body(c, i.h); err != nil {
			return err
		}
		if len(body) != len(i.body) {
			return fmt.Errorf("the handler made room for %d bytes of a body of %d", len(body), len(i.body))
		}
		copy(body, i.body)
	}
	if c.isClosed() { // by Body
		return nil
	}
	return c.handler.Frame(c, i.h, body)
}

func (c *conn) isClosed() bool {
	c.host.world.mu.Lock()
	defer c.host.world.mu.Unlock()
	return c.closed
}

// free gives credit back.
func (c *conn) free(bytes int) {
	w := c.host.world
	w.mu.Lock()
	defer w.mu.Unlock()
	c.give(c.credit.Free(bytes))
}

// give lets the other end send so many bytes more.
func (c *conn) give(give int64) {
	if give == 0 || c.closed {
		return
	}
	w := c.host.world
	to := c.peer
	c.pass(func() {
		w.on(to.host, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.record("credit", c.host, to.host, fabric.Header{Aux: uint64(give)})
			if err := to.credit.Grant(uint64(give)); err != nil {
				to.end(&fabric.ProtocolError{Remote: to.remote, Reason: err.Error()})
			}
			to.pump()
		})
	})
}

// Hold implements fabric.Conn.
func (c *conn) Hold(n int) {
	c.host.world.mu.Lock()
	defer c.host.world.mu.Unlock()
	c.credit.Hold(n)
}

// Release implements fabric.Conn.
func (c *conn) Release(n int) {
	c.host.world.mu.Lock()
	defer c.host.world.mu.Unlock()
	give, err := c.credit.Release(n)
	if err != nil {
		c.end(err)
		return
	}
	c.give(give)
}

// Close implements fabric.Conn.
func (c *conn) Close(err error) {
	c.host.world.mu.Lock()
	defer c.host.world.mu.Unlock()
	if err == nil {
		err = fabric.ErrClosed
	}
	c.end(err)
}

// end closes this end and lets the other know.
func (c *conn) end(err error) {
	if c.closed {
		return
	}
	if c.peer != nil {
		c.tell("close", io.EOF)
	}
	c.fail(err)
}

// fail closes this end.
func (c *conn) fail(err error) {
	c.closed, c.cause = true, err
	c.drop()
	if c.handler != nil {
		c.sayClosed()
	}
}

func (c *conn) sayClosed() {
	c.host.world.after(0, c.host, func() { c.handler.Closed(c, c.cause) })
}

// drop fails all that is queued.
func (c *conn) drop() {
	for p := range c.waiting {
		for _, i := range c.waiting[p] {
			c.after(i.done, c.cause)
		}
		c.waiting[p], c.queued[p] = nil, 0
	}
}

// Remote implements fabric.Conn.
func (c *conn) Remote() string { return c.remote }

// Peer implements fabric.Conn.
func (c *conn) Peer() string {
	c.host.world.mu.Lock()
	defer c.host.world.mu.Unlock()
	return c.named
}

// Stats implements fabric.Conn.
func (c *conn) Stats() fabric.Stats {
	c.host.world.mu.Lock()
	defer c.host.world.mu.Unlock()
	s := c.stats
	s.Queued = int64(c.queued[0] + c.queued[1])
	return s
}
