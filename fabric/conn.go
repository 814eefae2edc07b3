package fabric

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"millrace.dev/fabric/internal/flow"
)

// conn is a connection over a socket. Its reader goroutine makes the
// connection, reads, and calls the handler; its writer goroutine sends what
// Send did not write itself, and calls the done functions.
type conn struct {
	net    *Sockets
	accept func(Conn) (Handler, error) // on the side that accepts
	remote string
	in     input // of the reader goroutine

	cancel func()   // ends a dial
	raw    net.Conn // under mu, for fail to close
	stream stream   // set before the hello

	mu     sync.Mutex
	wake   sync.Cond // something changed that the writer waits for
	peer   string
	closed bool
	cause  error // why, once closed
	out    output
	credit flow.Credit

	framesIn, bytesIn atomic.Uint64
	handler           Handler
	ended             chan struct{} // the writer has
}

func newConn(s *Sockets, h Handler, remote string) *conn {
	c := &conn{net: s, handler: h, remote: remote, ended: make(chan struct{})}
	c.wake.L = &c.mu
	c.credit.Open(s.opt.Window, minWindow)
	return c
}

// start runs the connection over what open returns. On a network that is closed
// it ends before it begins.
func (c *conn) start(open func(context.Context) (net.Conn, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), c.net.opt.DialTimeout)
	c.cancel = cancel
	if !c.net.own(c, 2) {
		cancel()
		c.closed, c.cause = true, ErrClosed
		if c.raw != nil {
			c.raw.Close()
		}
		if c.handler != nil {
			go c.handler.Closed(c, ErrClosed)
		}
		return
	}
	go c.write()
	go c.run(ctx, open)
}

// run is the reader goroutine.
func (c *conn) run(ctx context.Context, open func(context.Context) (net.Conn, error)) {
	defer c.net.running.Done()
	defer c.net.disown(c)
	err := c.connect(ctx, open)
	c.cancel()
	if err == nil {
		err = c.read()
	}
	c.fail(c.explain(err))
	<-c.ended
	if c.handler != nil {
		c.handler.Closed(c, c.cause)
	}
}

// explain adds to an error what only the connection knows, and counts refusals.
func (c *conn) explain(err error) error {
	var protocol *ProtocolError
	var version *VersionError
	switch {
	case errors.As(err, &protocol):
		protocol.Remote = c.remote
		c.net.refused.Add(1)
	case errors.As(err, &version):
		version.Remote = c.remote
		c.net.refused.Add(1)
	}
	return err
}

// fail closes the connection; the first reason counts.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.failLocked(err)
}

func (c *conn) failLocked(err error) {
	c.closed, c.cause = true, err
	c.cancel()
	if c.raw != nil {
		c.raw.Close()
	}
	c.wake.Broadcast()
}

// keep takes the socket for fail to close, unless that came first.
func (c *conn) keep(raw net.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = raw
	if c.closed {
		raw.Close()
		return c.cause
	}
	return nil
}

// Close implements Conn.
func (c *conn) Close(err error) {
	if err == nil {
		err = ErrClosed
	}
	c.fail(err)
}

func (c *conn) shut() { c.fail(ErrClosed) }

// Remote implements Conn.
func (c *conn) Remote() string { return c.remote }

// Peer implements Conn.
func (c *conn) Peer() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer
}

// Stats implements Conn.
func (c *conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		FramesSent: c.out.frames, BytesSent: c.out.bytes, Queued: int64(c.out.queued()),
		FramesReceived: c.framesIn.Load(), BytesReceived: c.bytesIn.Load(),
	}
}
