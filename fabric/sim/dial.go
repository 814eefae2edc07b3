package sim

import (
	"fmt"
	"io"
	"syscall"
	"time"

	"millrace.dev/fabric"
)

// Dial implements fabric.Network.
func (h *Host) Dial(addr string, handler fabric.Handler) fabric.Conn {
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	c := h.newConn(addr, handler)
	name, err := hostOf(addr)
	switch {
	case err != nil:
		c.fail(err)
	case h.state == gone:
		c.closed, c.cause = true, fabric.ErrClosed
	default:
		deadline := w.now + DialTimeout
		w.after(DialTimeout, nil, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !c.open && !c.closed {
				c.end(fmt.Errorf("%s: %w", addr, syscall.ETIMEDOUT))
			}
		})
		c.knock(name, deadline)
	}
	return c
}

// knock sends the request to connect, again as long as nothing passes.
func (c *conn) knock(name string, deadline time.Duration) {
	w := c.host.world
	w.after(w.delay(w.linkOf(c.host.name, name)), nil, func() {
		w.mu.Lock()
		to := w.hosts[name]
		switch {
		case c.closed:
		case to != nil && w.blocked(c.host, to) || to == nil && w.group[c.host.name] != w.group[name]:
			if w.now < deadline {
				w.after(100*time.Millisecond, nil, func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					c.knock(name, deadline)
				})
			}
		case to == nil || to.state == gone || to.listeners[c.remote] == nil:
			w.after(w.delay(w.linkOf(name, c.host.name)), nil, func() { c.refused(syscall.ECONNREFUSED) })
		default:
			w.record("dial", c.host, to, fabric.Header{})
			w.mu.Unlock()
			w.on(to, func() { c.arrive(to) })
			return
		}
		w.mu.Unlock()
	})
}

// refused ends a dial.
func (c *conn) refused(err error) {
	w := c.host.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.closed {
		w.record("refuse", c.host, c.host, fabric.Header{})
		c.fail(fmt.Errorf("%s: %w", c.remote, err))
	}
}

// arrive is the request to connect at the host that listens.
func (c *conn) arrive(to *Host) {
	w := to.world
	w.mu.Lock()
	l := to.listeners[c.remote]
	if c.closed || l == nil {
		w.after(w.delay(w.linkOf(to.name, c.host.name)), nil, func() { c.refused(syscall.ECONNREFUSED) })
		w.mu.Unlock()
		return
	}
	p := to.newConn("sim:"+c.host.name, nil)
	p.peer, p.named = c, c.host.name
	c.peer = p
	w.mu.Unlock()

	handler, err := l.accept(p)

	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		p.closed, p.cause = true, err
		p.drop()
		p.pass(func() { c.refused(syscall.ECONNRESET) })
		return
	}
	p.handler = handler
	if p.closed {
		p.sayClosed()
		p.pass(func() { c.refused(io.EOF) })
		return
	}
	p.pass(func() { w.on(c.host, func() { c.connected(p) }) })
	p.open = true
	p.pump()
}

// connected is the consent back at the host that dialed.
func (c *conn) connected(p *conn) {
	w := c.host.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.closed {
		return
	}
	c.named = p.host.name
	w.record("open", c.host, p.host, fabric.Header{})
	c.open = true
	c.pump()
}
