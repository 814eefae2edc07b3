package fabric

import (
	"fmt"
)

// Priority is the class of a frame.
type Priority uint8

const (
	// Control frames are small, never wait for credit, and overtake bulk
	// frames between two frames.
	Control Priority = iota
	// Bulk frames carry data and wait for the receiver's credit.
	Bulk
)

func (p Priority) String() string {
	switch p {
	case Control:
		return "control"
	case Bulk:
		return "bulk"
	}
	return fmt.Sprintf("priority %d", uint8(p))
}

// Limits of bodies in bytes.
const (
	MaxControl = 256 << 10
	MaxBulk    = 4 << 20
)

// Limit returns the largest body of a frame of this priority, in bytes.
func (p Priority) Limit() int {
	if p == Bulk {
		return MaxBulk
	}
	return MaxControl
}

// Handler takes what comes over one connection. Its callbacks come one at a
// time and must not block: the connection reads nothing while one runs.
type Handler interface {
	// Body returns where the body of a frame goes: exactly h.Length bytes, the
	// final place or a pooled buffer. It is called for frames with a body only.
	// An error closes the connection with it.
	Body(c Conn, h Header) ([]byte, error)
	// Frame takes a whole frame; body is what Body returned, nil if h.Length
	// is 0. An error closes the connection with it.
	Frame(c Conn, h Header, body []byte) error
	// Closed says that the connection is over, and why. It is the last
	// callback and comes once, also if a dial failed.
	Closed(c Conn, err error)
}

// Conn is a connection. Its methods may be called from anywhere, callbacks
// included, and do not block.
type Conn interface {
	// Send queues a frame; h.Length is set from the body. The body must stay
	// untouched until done is called, with nil when the system has taken
	// all of it, or with the reason why it never will. done may be nil; it is
	// never called from within Send, and must not block. Frames sent before a
	// dial has connected wait in the queue. A body over its priority's limit
	// closes the connection with a *LimitError, as a frame that cannot be
	// queued does with ErrQueueFull.
	Send(p Priority, h Header, body []byte, done func(error))
	// Hold keeps back the credit for n bytes of bulk body, of those that came,
	// until Release. It is called from Handler.Frame, by a handler that keeps
	// the body in a buffer of its own beyond the callback.
	Hold(n int)
	// Release gives back credit for n bytes that were held. More than that
	// closes the connection.
	Release(n int)
	// Close ends the connection at once; what is queued is dropped. Closed
	// gets err, or ErrClosed if err is nil. To close after a last frame, close
	// from its done function. Later calls do nothing.
	Close(err error)
	// Remote returns the peer's address.
	Remote() string
	// Peer returns the peer's name: from its certificate with TLS, else what it
	// calls itself. It is empty until a dial has connected.
	Peer() string
	// Stats returns what has passed so far.
	Stats() Stats
}

// Stats counts what passed over a connection, headers and the fabric's own
// frames included.
type Stats struct {
	FramesSent, FramesReceived uint64
	BytesSent, BytesReceived   uint64
	Queued                     int64 // bytes that wait to be sent
}

// Listener takes connections on an address.
type Listener interface {
	// Addr returns the address in a form that Dial takes, with the port that
	// was chosen.
	Addr() string
	// Close stops listening; connections that were accepted stay.
	Close() error
}

// Network makes connections.
type Network interface {
	// Listen calls accept for each peer that connects and says who it is; an
	// error from accept refuses it.
	Listen(addr string, accept func(Conn) (Handler, error)) (Listener, error)
	// Dial returns at once. Frames wait until the connection stands; if it
	// cannot be made, Closed says why.
	Dial(addr string, h Handler) Conn
}
