package sim

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"millrace.dev/fabric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder keeps what it gets.
type recorder struct {
	frames []fabric.Header
	bodies [][]byte
	closed []error
	conns  []fabric.Conn
	on     func(c fabric.Conn, h fabric.Header)
}

func (r *recorder) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	return make([]byte, h.Length), nil
}
func (r *recorder) Frame(c fabric.Conn, h fabric.Header, body []byte) error {
	r.frames, r.bodies = append(r.frames, h), append(r.bodies, body)
	if r.on != nil {
		r.on(c, h)
	}
	return nil
}
func (r *recorder) Closed(_ fabric.Conn, err error) { r.closed = append(r.closed, err) }
func (r *recorder) accept(c fabric.Conn) (fabric.Handler, error) {
	r.conns = append(r.conns, c)
	return r, nil
}

func TestFramesTakeTheDelayOfTheLink(t *testing.T) {
	w := New(1, Link{Min: 10 * time.Millisecond, Max: 10 * time.Millisecond})
	var at, from recorder
	if _, err := w.Host("b").Listen("sim:b", at.accept); err != nil {
		t.Fatal(err)
	}
	c := w.Host("a").Dial("sim:b", &from)
	c.Send(fabric.Control, fabric.Header{Step: 7}, []byte("hello"), nil)
	w.Run(29 * time.Millisecond)
	if len(at.frames) != 0 {
		t.Fatal("a frame came before two ways of connecting and one of its own")
	}
	w.Run(time.Millisecond)
	if len(at.frames) != 1 || at.frames[0].Step != 7 || string(at.bodies[0]) != "hello" {
		t.Fatalf("got %v", at.frames)
	}
	if c.Peer() != "b" || at.conns[0].Peer() != "a" {
		t.Errorf("peers %q and %q", c.Peer(), at.conns[0].Peer())
	}
}
