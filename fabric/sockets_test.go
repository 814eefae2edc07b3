package fabric

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace.dev/fabric/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// received is a frame as a recorder got it.
type received struct {
	h    Header
	body []byte
}

// recorder is a handler that passes on what it gets.
type recorder struct {
	frames chan received
	closed chan error
	conns  chan Conn
}

func newRecorder() *recorder {
	return &recorder{make(chan received, 1024), make(chan error, 1024), make(chan Conn, 1024)}
}

func (r *recorder) Body(_ Conn, h Header) ([]byte, error) { return make([]byte, h.Length), nil }
func (r *recorder) Frame(_ Conn, h Header, body []byte) error {
	r.frames <- received{h, body}
	return nil
}
func (r *recorder) Closed(_ Conn, err error) { r.closed <- err }

func (r *recorder) accept(c Conn) (Handler, error) {
	r.conns <- c
	return r, nil
}

// get returns the next value of a channel, which must come.
func get[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came in a minute")
		panic("unreachable")
	}
}

func network(t testing.TB, opt Options) *Sockets {
	t.Helper()
	if opt.Name == "" {
		opt.Name = "w"
	}
	s, err := NewSockets(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// addresses are those of every kind of plain socket.
func addresses(t testing.TB) map[string]string {
	return map[string]string{
		"unix": "unix:" + filepath.Join(t.TempDir(), "s"),
		"tcp4": "tcp:127.0.0.1:0",
		"tcp6": "tcp:[::1]:0",
	}
}

func TestFramesArriveInOrder(t *testing.T) {
	for name, addr := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			server, client := network(t, Options{Name: "server"}), network(t, Options{Name: "client"})
			at, from := newRecorder(), newRecorder()
			l, err := server.Listen(addr, at.accept)
			if err != nil {
				t.Fatal(err)
			}
			c := client.Dial(l.Addr(), from)
			sizes := []int{0, 1, 100, 5000, 70_000, MaxControl, 0, 3}
			for i, size := range sizes {
				c.Send(Control, Header{Type: 1, Step: uint64(i)}, bytes.Repeat([]byte{byte(i)}, size), nil)
			}
			for i, size := range sizes {
				got := get(t, at.frames)
				if got.h.Step != uint64(i) || !bytes.Equal(got.body, bytes.Repeat([]byte{byte(i)}, size)) {
					t.Fatalf("frame %d: %+v, %d bytes", i, got.h, len(got.body))
				}
			}
			back := get(t, at.conns)
			if back.Peer() != "client" || c.Peer() != "server" {
				t.Errorf("peers %q and %q", back.Peer(), c.Peer())
			}
			back.Send(Bulk, Header{Type: 2}, make([]byte, MaxBulk), nil)
			if got := get(t, from.frames); len(got.body) != MaxBulk {
				t.Errorf("%d bytes came back", len(got.body))
			}
			c.Close(nil)
			if err := get(t, from.closed); err != ErrClosed {
				t.Errorf("closed here with %v", err)
			}
			if err := get(t, at.closed); err != io.EOF {
				t.Errorf("closed there with %v", err)
			}
		})
	}
}

// identity makes a worker of the cluster in dir.
func identity(t testing.TB, dir, name string) *keys.Identity {
	t.Helper()
	a, err := keys.OpenAuthority(dir)
	if errors.Is(err, fs.ErrNotExist) {
		a, err = keys.CreateAuthority(dir, "test", time.Hour)
	}
	if err == nil {
		err = a.Issue(dir, name, time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	id, err := keys.Load(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// slow is a recorder that takes its first frame only when it is told to go on.
type slow struct {
	*recorder
	goOn chan struct{}
}

func (s slow) Frame(c Conn, h Header, body []byte) error {
	<-s.goOn
	return s.recorder.Frame(c, h, body)
}

// TestControlOvertakesBulk: a control frame goes before the bulk frames that wait, though these have credit.
func TestControlOvertakesBulk(t *testing.T) {
	const bulk = 48 // frames of 1 MiB: much more than the system keeps for a receiver that reads nothing
	for name, addr := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			server, client := network(t, Options{Name: "server", Window: 64 << 20}), network(t, Options{Name: "client"})
			at, from := slow{newRecorder(), make(chan struct{})}, newRecorder()
			l, err := server.Listen(addr, func(Conn) (Handler, error) { return at, nil })
			if err != nil {
				t.Fatal(err)
			}
			c := client.Dial(l.Addr(), from)
			body := make([]byte, 1<<20)
			for i := range bulk {
				c.Send(Bulk, Header{Step: uint64(i)}, body, nil)
			}
			settle(t, func() bool { return c.Stats().FramesSent > 0 })
			c.Send(Control, Header{Type: 1}, nil, nil)
			close(at.goOn)
			for i := range bulk + 1 {
				if got := get(t, at.frames); got.h.Type == 1 {
					if i == bulk {
						t.Error("the control frame came last")
					}
				}
			}
		})
	}
}
