package fabric

import (
	"path/filepath"
	"testing"
)

// echo is a handler that sends each frame back from its own buffer, or counts
// what came back.
type echo struct {
	buffer []byte
	back   bool
	came   chan struct{}
	done   func(error)
}

func (e *echo) Body(_ Conn, h Header) ([]byte, error) { return e.buffer[:h.Length], nil }
func (e *echo) Frame(c Conn, h Header, body []byte) error {
	if e.back {
		c.Send(Priority(h.Type), h, body, e.done)
	} else {
		e.came <- struct{}{}
	}
	return nil
}
func (e *echo) Closed(Conn, error) {}

// echoes connects to a server that echoes, and returns the connection and what
// tells that a frame came back.
func echoes(t testing.TB, addr string, opt Options) (Conn, <-chan struct{}) {
	server, client := network(t, opt), network(t, opt)
	l, err := server.Listen(addr, func(Conn) (Handler, error) {
		return &echo{buffer: make([]byte, MaxBulk), back: true, done: func(error) {}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	here := &echo{buffer: make([]byte, MaxBulk), came: make(chan struct{}, 1)}
	return client.Dial(l.Addr(), here), here.came
}

func TestFramesAllocateNothing(t *testing.T) {
	for name, addr := range map[string]string{"unix": "unix:" + filepath.Join(t.TempDir(), "s"), "tcp": "tcp:127.0.0.1:0"} {
		t.Run(name, func(t *testing.T) {
			c, came := echoes(t, addr, Options{})
			body := make([]byte, 1<<20)
			done := make(chan struct{}, 1)
			finish := func(error) { done <- struct{}{} }
			for size, p := range map[int]Priority{0: Control, 1024: Control, 100_000: Control, 1025: Bulk, 1 << 20: Bulk} {
				round := func() {
					c.Send(p, Header{Type: uint8(p)}, body[:size], finish)
					<-came
					<-done
				}
				for range 50 { // queues and buffers find their size
					round()
				}
				if n := testing.AllocsPerRun(100, round); n != 0 {
					t.Errorf("%v frames of %d bytes: %v allocations per round trip", p, size, n)
				}
			}
		})
	}
}
