package main

import (
	"os"
	"sync/atomic"
	"syscall"

	"millrace.dev/fabric"
	"millrace.dev/group/protocol"
)

// Points at which a worker can be told to kill itself.
const (
	reduces    = "reduce" // its part of the gradient is complete, the sum is not
	sendsToken = "token"  // it is prepared, nobody knows
	sendsView  = "view"   // a vote or a change of the view goes round
)

// messageType is the type of frames with a message of the protocol.
const messageType = 2

// trap is a network that notes what its worker does, and in which the worker kills itself where it is told to.
type trap struct {
	fabric.Network
	phase *phase
	dying func() // told right before
	armed atomic.Pointer[aim]
}

// aim is the point of a kill.
type aim struct {
	point string
	left  atomic.Int64
}

// arm makes the worker kill itself the n-th time it is at a point.
func (t *trap) arm(point string, n int64) {
	a := &aim{point: point}
	a.left.Store(n)
	t.armed.Store(a)
}

func (t *trap) at(point string) {
	if a := t.armed.Load(); a != nil && a.point == point && a.left.Add(-1) == 0 {
		t.dying()
		syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // nothing is after it
		select {}
	}
}

// reducing is called when the worker begins to wait for a sum: it dies in the midst of that.
func (t *trap) reducing() {
	if a := t.armed.Load(); a != nil && a.point == reduces {
		go t.at(reduces)
	}
}

// sending looks at a frame before it is sent.
func (t *trap) sending(h fabric.Header, body []byte) {
	if h.Type != messageType {
		return
	}
	message, err := protocol.Decode(body)
	if err != nil {
		return
	}
	switch message.(type) {
	case *protocol.Token, *protocol.Verdict:
		t.phase.set(inToken)
		t.at(sendsToken)
	case *protocol.Reconcile, *protocol.Accept:
		t.phase.set(inView)
		t.at(sendsView)
	}
}

// Listen implements fabric.Network.
func (t *trap) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	return t.Network.Listen(addr, func(c fabric.Conn) (fabric.Handler, error) { return accept(trapped{c, t}) })
}

// Dial implements fabric.Network.
func (t *trap) Dial(addr string, h fabric.Handler) fabric.Conn {
	return trapped{t.Network.Dial(addr, h), t}
}

type trapped struct {
	fabric.Conn
	t *trap
}

// Send implements fabric.Conn.
func (c trapped) Send(p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	c.t.sending(h, body)
	c.Conn.Send(p, h, body, done)
}
