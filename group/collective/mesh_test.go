package collective

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace.dev/fabric"
	"millrace.dev/fabric/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seeds is how often a test tries, less if it is to be short.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return max(1, n/5)
	}
	return n
}

// receiver is what a member does with what it receives.
type receiver interface {
	Body(from int, h fabric.Header) ([]byte, error)
	Frame(from int, h fabric.Header, body []byte) error
	Closed(from int)
}

// member is one end of a mesh of connections: the higher rank of a pair dials.
type member struct {
	rank  int
	mu    sync.Mutex
	conns []fabric.Conn
	to    receiver
	lost  func(from int, err error)
}

type end struct {
	m    *member
	peer int
}

func (e *end) Body(_ fabric.Conn, h fabric.Header) ([]byte, error) { return e.m.to.Body(e.peer, h) }
func (e *end) Frame(_ fabric.Conn, h fabric.Header, body []byte) error {
	return e.m.to.Frame(e.peer, h, body)
}
func (e *end) Closed(_ fabric.Conn, err error) {
	if e.m.lost != nil {
		e.m.lost(e.peer, err)
	}
	e.m.to.Closed(e.peer)
}

func (m *member) send(to int, p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	m.mu.Lock()
	c := m.conns[to]
	m.mu.Unlock()
	c.Send(p, h, body, done)
}

func (m *member) accept(c fabric.Conn) (fabric.Handler, error) {
	peer, err := strconv.Atoi(strings.TrimPrefix(c.Peer(), "r"))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.conns[peer] = c
	m.mu.Unlock()
	return &end{m, peer}, nil
}

// join connects members over networks, one each; ready waits until all connections stand.
func join(t testing.TB, members []*member, nets []fabric.Network, addr func(rank int) string, ready func(all func() bool)) {
	t.Helper()
	n := len(members)
	for r, m := range members {
		m.rank, m.conns = r, make([]fabric.Conn, n)
		l, err := nets[r].Listen(addr(r), m.accept)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	for r, m := range members {
		for peer := range r {
			c := nets[r].Dial(addr(peer), &end{m, peer})
			m.mu.Lock()
			m.conns[peer] = c
			m.mu.Unlock()
		}
	}
	ready(func() bool {
		for r, m := range members {
			m.mu.Lock()
			for peer, c := range m.conns {
				if peer != r && c == nil {
					m.mu.Unlock()
					return false
				}
			}
			m.mu.Unlock()
		}
		return true
	})
}

// simulated joins members over a simulated network.
func simulated(t testing.TB, seed uint64, link sim.Link, members []*member) *sim.World {
	w := sim.New(seed, link)
	nets := make([]fabric.Network, len(members))
	for r := range members {
		nets[r] = w.Host(fmt.Sprintf("r%d", r))
	}
	join(t, members, nets, func(r int) string { return fmt.Sprintf("sim:r%d", r) }, func(all func() bool) {
		if !w.RunUntil(all, time.Minute) {
			t.Fatal("the simulated members do not connect")
		}
	})
	return w
}

// overSockets joins members over real sockets: unix, or tcp.
func overSockets(t testing.TB, kind string, members []*member) {
	nets := make([]fabric.Network, len(members))
	addrs := make([]string, len(members))
	dir := t.TempDir()
	for r, m := range members {
		s, err := fabric.NewSockets(fabric.Options{Name: fmt.Sprintf("r%d", r)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		nets[r] = listening{s, &addrs[r]}
		_ = m
		addrs[r] = "tcp:127.0.0.1:0"
		if kind == "unix" {
			addrs[r] = "unix:" + filepath.Join(dir, fmt.Sprintf("r%d", r))
		}
	}
	join(t, members, nets, func(r int) string { return addrs[r] }, func(all func() bool) {
		for end := time.Now().Add(time.Minute); !all(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the members do not connect")
			}
		}
	})
}

// listening notes the address that was chosen.
type listening struct {
	fabric.Network
	addr *string
}

func (l listening) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	li, err := l.Network.Listen(addr, accept)
	if err == nil {
		*l.addr = li.Addr()
	}
	return li, err
}
