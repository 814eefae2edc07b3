package fabric

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"millrace.dev/fabric/keys"
)

// openFiles counts the descriptors of this process, 0 where nobody tells.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// TestThousandConnections connects and closes, and looks for what stays.
func TestThousandConnections(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	server, client := network(t, Options{Name: "server"}), network(t, Options{Name: "client"})
	at := newRecorder()
	l, err := server.Listen("unix:"+filepath.Join(t.TempDir(), "s"), func(Conn) (Handler, error) { return at, nil })
	if err != nil {
		t.Fatal(err)
	}
	once := func(i int) {
		from := newRecorder()
		c := client.Dial(l.Addr(), from)
		c.Send(Control, Header{Step: uint64(i)}, []byte("x"), nil)
		if got := get(t, at.frames); got.h.Step != uint64(i) {
			t.Fatalf("got frame %d instead of %d", got.h.Step, i)
		}
		c.Close(nil)
		get(t, from.closed)
		get(t, at.closed)
	}
	var before, after runtime.MemStats
	once(0)
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for i := range n {
		once(i)
	}
	settle(t, func() bool { return runtime.NumGoroutine() <= goroutines && openFiles() <= files })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d bytes of memory stay after %d connections", grown, n)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.owned) != 1 { // the listener
		t.Errorf("the network still owns %d things", len(server.owned))
	}
}

// settle waits until a condition holds.
func settle(t testing.TB, condition func() bool) {
	t.Helper()
	for range 20_000 {
		if condition() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("it does not settle: %d goroutines, %d open files", runtime.NumGoroutine(), openFiles())
}

// TestCloseInEveryState closes connections at random moments from several goroutines.
func TestCloseInEveryState(t *testing.T) {
	for name, addr := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			server, client := network(t, Options{Name: "server"}), network(t, Options{Name: "client"})
			l, err := server.Listen(addr, func(c Conn) (Handler, error) { return newRecorder(), nil })
			if err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				from := newRecorder()
				c := client.Dial(l.Addr(), from)
				var done, sent sync.WaitGroup
				for range 3 {
					sent.Go(func() {
						for j := range 10 {
							done.Add(1)
							c.Send(Priority(j%2), Header{}, make([]byte, 100*j*j), func(error) { done.Done() })
						}
					})
				}
				time.Sleep(time.Duration(i) * 5 * time.Microsecond)
				c.Close(nil)
				get(t, from.closed)
				sent.Wait()
				done.Wait() // each comes, whatever became of the frame
			}
		})
	}
}

func TestClosedNetworkRefuses(t *testing.T) {
	s := network(t, Options{})
	s.Close()
	if _, err := s.Listen("tcp:127.0.0.1:0", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("listens with %v", err)
	}
	r := newRecorder()
	c := s.Dial("tcp:127.0.0.1:1", r)
	if err := get(t, r.closed); !errors.Is(err, ErrClosed) {
		t.Errorf("dials with %v", err)
	}
	failed := make(chan error, 1)
	c.Send(Control, Header{}, nil, func(err error) { failed <- err })
	if err := get(t, failed); !errors.Is(err, ErrClosed) {
		t.Errorf("sends with %v", err)
	}
}

func TestNetworkCloseEndsAll(t *testing.T) {
	server, client := network(t, Options{}), network(t, Options{})
	at, from := newRecorder(), newRecorder()
	l, err := server.Listen("tcp:127.0.0.1:0", at.accept)
	if err != nil {
		t.Fatal(err)
	}
	client.Dial(l.Addr(), from)
	get(t, at.conns)
	server.Close()
	if err := get(t, at.closed); !errors.Is(err, ErrClosed) {
		t.Errorf("closed there with %v", err)
	}
	if err := get(t, from.closed); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("closed here with %v", err)
	}
	again := newRecorder()
	client.Dial(l.Addr(), again)
	if err := get(t, again.closed); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the listener is still there: %v", err)
	}
}

// TestFullQueueCloses sends to a peer that reads nothing.
func TestFullQueueCloses(t *testing.T) {
	client, from := network(t, Options{}), newRecorder()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := client.Dial("tcp:"+l.Addr().String(), from)
	body := make([]byte, MaxControl)
	for range 100 {
		c.Send(Control, Header{}, body, nil)
	}
	if err := get(t, from.closed); err != ErrQueueFull {
		t.Errorf("closed with %v", err)
	}
}

func TestBeyondLoopbackNeedsKeys(t *testing.T) {
	s, r := network(t, Options{}), newRecorder()
	var insecure *InsecureError
	for _, addr := range []string{"tcp:0.0.0.0:0", "tcp:[::]:0", "tcp::0"} {
		if _, err := s.Listen(addr, nil); !errors.As(err, &insecure) {
			t.Errorf("listens on %s with %v", addr, err)
		}
	}
	s.Dial("tcp:192.0.2.1:9", r)
	if err := get(t, r.closed); !errors.As(err, &insecure) || !strings.Contains(err.Error(), "192.0.2.1:9") {
		t.Errorf("dials with %v", err)
	}
	secured := network(t, Options{Name: "a", Keys: identity(t, t.TempDir(), "a")})
	l, err := secured.Listen("tcp:0.0.0.0:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// TestStrangersWithTLS lets in whom the cluster knows and nobody else.
func TestStrangersWithTLS(t *testing.T) {
	ours := t.TempDir()
	server := network(t, Options{Name: "a", Keys: identity(t, ours, "a")})
	at := newRecorder()
	l, err := server.Listen("tcp:127.0.0.1:0", at.accept)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		keys    *keys.Identity
		claim   string
		allowed bool
	}{
		"member":          {identity(t, ours, "b"), "b", true},
		"false name":      {identity(t, ours, "c"), "d", false},
		"other authority": {identity(t, t.TempDir(), "b"), "b", false},
		"no keys":         {nil, "b", false},
	} {
		t.Run(name, func(t *testing.T) {
			before := server.Refused()
			client := network(t, Options{Name: "x"})
			client.opt.Name, client.opt.Keys = c.claim, c.keys // past the check of NewSockets
			from := newRecorder()
			conn := client.Dial(l.Addr(), from)
			if c.allowed {
				if got := get(t, at.conns); got.Peer() != "b" {
					t.Errorf("it is called %q", got.Peer())
				}
				conn.Close(nil)
				get(t, at.closed)
				return
			}
			if err := get(t, from.closed); err == nil || c.keys == nil && !strings.Contains(err.Error(), "wants to see keys") {
				t.Errorf("closed with %v", err)
			}
			settle(t, func() bool { return server.Refused() == before+1 })
			if len(at.conns) != 0 {
				t.Error("it was let in")
			}
		})
	}
	if _, err := NewSockets(Options{Name: "y", Keys: identity(t, ours, "z")}); err == nil {
		t.Error("a name that is not that of the certificate is taken")
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, opt := range []Options{
		{}, {Name: strings.Repeat("x", 256)}, {Name: "a\nb"}, {Name: "\xff"},
		{Name: "a", Window: MaxBulk}, {Name: "a", Window: 1<<30 + 1}, {Name: "a", Window: -1},
	} {
		if _, err := NewSockets(opt); err == nil {
			t.Errorf("%+v is taken", opt)
		}
	}
}

func TestUnixSocketFiles(t *testing.T) {
	s := network(t, Options{})
	path := filepath.Join(t.TempDir(), "s")
	accept := func(Conn) (Handler, error) { return newRecorder(), nil }

	// What a killed process left behind is replaced.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := s.Listen("unix:"+path, accept)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	// What somebody listens on is not.
	if _, err := s.Listen("unix:"+path, accept); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listens again with %v", err)
	}
	l.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's file is still there: %v", err)
	}
	// Nor is any other file.
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("unix:"+path, accept); err == nil {
		t.Error("listens on a file")
	}
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Error("the file is gone")
	}
	var bad *AddressError
	if _, err := s.Listen("unix:/"+strings.Repeat("x", 200), accept); !errors.As(err, &bad) {
		t.Errorf("listens on a long path with %v", err)
	}
}
