package conform

import (
	"sync"
	"testing"

	"millrace.dev/fabric"
)

// side is a handler that keeps what comes, and checks that callbacks come one
// at a time and in a right order.
type side struct {
	t  *testing.T
	mu sync.Mutex

	conn   fabric.Conn
	frames []fabric.Header
	bodies [][]byte
	closed []error
	inside bool

	room  func(h fabric.Header) ([]byte, error)
	frame func(c fabric.Conn, h fabric.Header) error
}

func (s *side) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside {
		s.t.Error("two callbacks at once")
	}
	if len(s.closed) > 0 {
		s.t.Error("a callback after Closed")
	}
	s.inside = true
}

func (s *side) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) {
	s.enter()
	defer s.leave()
	if h.Length == 0 {
		s.t.Error("Body for a frame without one")
	}
	if s.room != nil {
		return s.room(h)
	}
	return make([]byte, h.Length), nil
}

func (s *side) leave() {
	s.mu.Lock()
	s.inside = false
	s.mu.Unlock()
}

func (s *side) Frame(c fabric.Conn, h fabric.Header, body []byte) error {
	s.enter()
	defer s.leave()
	var err error
	if s.frame != nil {
		err = s.frame(c, h)
	}
	s.mu.Lock()
	s.frames, s.bodies = append(s.frames, h), append(s.bodies, body)
	s.mu.Unlock()
	return err
}

func (s *side) Closed(_ fabric.Conn, err error) {
	s.enter()
	s.mu.Lock()
	s.inside = false
	s.closed = append(s.closed, err)
	s.mu.Unlock()
}

// has tells whether so many frames came.
func (s *side) has(n int) func() bool {
	return func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.frames) >= n }
}

func (s *side) isClosed() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.closed) > 0 }

// why returns the error that Closed got.
func (s *side) why() error { s.mu.Lock(); defer s.mu.Unlock(); return s.closed[0] }

// count is a number that callbacks add to.
type count struct {
	mu sync.Mutex
	n  int
}

func (c *count) add()                 { c.mu.Lock(); c.n++; c.mu.Unlock() }
func (c *count) get() int             { c.mu.Lock(); defer c.mu.Unlock(); return c.n }
func (c *count) is(n int) func() bool { return func() bool { return c.get() >= n } }

// pair connects two sides.
func pair(t *testing.T, env Env, client, server *side) (here, there fabric.Conn) {
	t.Helper()
	client.t, server.t = t, t
	l, err := env.Server.Listen(env.Addr(), func(c fabric.Conn) (fabric.Handler, error) {
		server.mu.Lock()
		defer server.mu.Unlock()
		server.conn = c
		return server, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	here = env.Client.Dial(l.Addr(), client)
	if !env.Wait(func() bool { return here.Peer() != "" && server.connected() }) {
		t.Fatal("never connected")
	}
	if here.Peer() != "server" || server.conn.Peer() != "client" {
		t.Fatalf("peers %q and %q", here.Peer(), server.conn.Peer())
	}
	return here, server.conn
}

func (s *side) connected() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.conn != nil }
