package fabric

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"millrace.dev/fabric/keys"
)

// Options configure Sockets.
type Options struct {
	// Name is what peers learn as Conn.Peer, 1 to 255 bytes. With keys it
	// must be the name in the certificate.
	Name string
	// Keys turns every TCP connection into mutual TLS. Without them TCP stays
	// on loopback.
	Keys *keys.Identity
	// DialTimeout bounds making a connection, hello included, on both sides.
	// 0 is 5 s.
	DialTimeout time.Duration
	// UserTimeout is how long the system may find no sign of the peer's
	// machine while there is something to send. 0 is 10 s. It works on Linux.
	UserTimeout time.Duration
	// Window is how much bulk data a peer may have on its way to us, in bytes.
	// 0 is 8 MiB; it is at least MaxBulk + HeaderSize.
	Window int
}

const (
	maxName       = 255
	minWindow     = MaxBulk + HeaderSize
	maxWindow     = 1 << 30
	defaultWindow = 8 << 20
)

// Sockets is the Network of real sockets. It owns its connections, listeners
// and their goroutines.
type Sockets struct {
	opt     Options
	refused atomic.Uint64
	running sync.WaitGroup // goroutines

	mu     sync.Mutex
	closed bool
	owned  map[interface{ shut() }]struct{} // connections and listeners
}

var _ Network = (*Sockets)(nil)

// NewSockets returns a network over TCP and Unix sockets.
func NewSockets(opt Options) (*Sockets, error) {
	if err := checkName(opt.Name); err != nil {
		return nil, err
	}
	if opt.Keys != nil && opt.Keys.Name != opt.Name {
		return nil, fmt.Errorf("the name %q is not that of the certificate, %q", opt.Name, opt.Keys.Name)
	}
	if opt.DialTimeout == 0 {
		opt.DialTimeout = 5 * time.Second
	}
	if opt.UserTimeout == 0 {
		opt.UserTimeout = 10 * time.Second
	}
	if opt.Window == 0 {
		opt.Window = defaultWindow
	}
	if opt.Window < minWindow || opt.Window > maxWindow {
		return nil, fmt.Errorf("a window of %d bytes: it must be from %d to %d", opt.Window, minWindow, maxWindow)
	}
	return &Sockets{opt: opt, owned: map[interface{ shut() }]struct{}{}}, nil
}

// checkName refuses what would garble a log.
func checkName(name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return fmt.Errorf("the name of a peer must have 1 to %d bytes of UTF-8, not %q", maxName, name)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("the name %q of a peer has an unprintable character", name)
		}
	}
	return nil
}

// Refused returns how many connections of others were dropped because what
// came over them was no valid stream, or they were not allowed.
func (s *Sockets) Refused() uint64 { return s.refused.Load() }

// Close ends all connections and listeners and waits for their goroutines. It
// must not be called from a callback.
func (s *Sockets) Close() error {
	s.mu.Lock()
	s.closed = true
	owned := make([]interface{ shut() }, 0, len(s.owned))
	for o := range s.owned {
		owned = append(owned, o)
	}
	s.mu.Unlock()
	for _, o := range owned {
		o.shut()
	}
	s.running.Wait()
	return nil
}

// own takes a connection or a listener with n goroutines, unless closed.
func (s *Sockets) own(o interface{ shut() }, goroutines int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.owned[o] = struct{}{}
	s.running.Add(goroutines)
	return true
}

func (s *Sockets) disown(o interface{ shut() }) {
	s.mu.Lock()
	delete(s.owned, o)
	s.mu.Unlock()
}

// Dial implements Network.
func (s *Sockets) Dial(addr string, h Handler) Conn {
	c := newConn(s, h, addr)
	c.start(func(ctx context.Context) (net.Conn, error) { return s.dial(ctx, addr) })
	return c
}

func (s *Sockets) dial(ctx context.Context, addr string) (net.Conn, error) {
	network, address, err := splitAddr(addr)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: s.opt.DialTimeout, Control: s.guard}
	return dialer.DialContext(ctx, network, address)
}

// guard sees each address that a socket is about to be bound or connected to.
func (s *Sockets) guard(network, address string, _ syscall.RawConn) error {
	if s.opt.Keys == nil && network != "unix" && !isLoopback(address) {
		return &InsecureError{Addr: address}
	}
	return nil
}

// listener accepts connections until it is closed.
type listener struct {
	net    *Sockets
	l      net.Listener
	accept func(Conn) (Handler, error)
}

// Listen implements Network. A Unix socket that nobody listens on any more is replaced.
func (s *Sockets) Listen(addr string, accept func(Conn) (Handler, error)) (Listener, error) {
	network, address, err := splitAddr(addr)
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: s.guard}
	l, err := config.Listen(context.Background(), network, address)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && abandoned(address) {
		if err = os.Remove(address); err == nil {
			l, err = config.Listen(context.Background(), network, address)
		}
	}
	if err != nil {
		return nil, err
	}
	if network == "unix" {
		if err := os.Chmod(address, 0o600); err != nil {
			l.Close()
			return nil, err
		}
	}
	li := &listener{net: s, l: l, accept: accept}
	if !s.own(li, 1) {
		l.Close()
		return nil, ErrClosed
	}
	go li.run()
	return li, nil
}

// abandoned tells whether a path is a Unix socket that nobody listens on.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

func (l *listener) Addr() string { return l.l.Addr().Network() + ":" + l.l.Addr().String() }

func (l *listener) Close() error { return l.l.Close() }

func (l *listener) shut() { l.l.Close() }

// run accepts until the listener is closed. When the process has no more
// descriptors it waits for some to come free.
func (l *listener) run() {
	defer l.net.running.Done()
	defer l.net.disown(l)
	for {
		raw, err := l.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		c := newConn(l.net, nil, remoteAddr(raw))
		c.raw = raw
		c.accept = l.accept
		c.start(func(context.Context) (net.Conn, error) { return raw, nil })
	}
}

// remoteAddr names the other end of a connection.
func remoteAddr(raw net.Conn) string {
	if a := raw.RemoteAddr(); a != nil && a.Network() != "unix" {
		return a.Network() + ":" + a.String()
	}
	return "unix:" + raw.LocalAddr().String()
}
