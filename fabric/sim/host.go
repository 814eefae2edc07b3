package sim

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"millrace.dev/fabric"
)

// state is whether a host runs.
type state uint8

const (
	running state = iota
	frozen
	gone // killed or vanished; its name may be used again
)

// Host is one process on a machine of its own: its network and its clock. A
// host that was killed stays dead; its name can have a new one.
type Host struct {
	world     *World
	name      string
	number    uint64 // of all hosts of the world
	state     state
	vanished  bool // gone without a word
	listeners map[string]*listener
	conns     []*conn
	deferred  []*event // what waits for a frozen host
}

var (
	_ fabric.Network = (*Host)(nil)
	_ fabric.Clock   = (*Host)(nil)
)

// Host returns the host of a name, a new one if there is none or it is gone.
func (w *World) Host(name string) *Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[name]
	if h == nil || h.state == gone {
		w.born++
		h = &Host{world: w, name: name, number: w.born, listeners: map[string]*listener{}}
		w.hosts[name] = h
	}
	return h
}

// Name returns the host's name.
func (h *Host) Name() string { return h.name }

// Now implements fabric.Clock.
func (h *Host) Now() time.Time { return h.world.Now() }

// AfterFunc implements fabric.Clock. The call waits while the host is frozen
// and does not come once it is gone.
func (h *Host) AfterFunc(d time.Duration, f func()) fabric.Timer {
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	return &timer{w, w.after(d, h, f)}
}

// listener takes connections of a host.
type listener struct {
	host   *Host
	addr   string
	accept func(fabric.Conn) (fabric.Handler, error)
}

// Listen implements fabric.Network. The address is "sim:NAME" with the host's
// name, or "sim:NAME:SERVICE" for several listeners.
func (h *Host) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if name, err := hostOf(addr); err != nil || name != h.name {
		return nil, &fabric.AddressError{Addr: addr, Reason: fmt.Sprintf("the host %s can listen on sim:%s only", h.name, h.name)}
	}
	if h.state == gone {
		return nil, fabric.ErrClosed
	}
	if h.listeners[addr] != nil {
		return nil, fmt.Errorf("%s: %w", addr, syscall.EADDRINUSE)
	}
	l := &listener{h, addr, accept}
	h.listeners[addr] = l
	return l, nil
}

// hostOf returns the host's name in an address.
func hostOf(addr string) (string, error) {
	rest, ok := strings.CutPrefix(addr, "sim:")
	name, _, _ := strings.Cut(rest, ":")
	if !ok || name == "" {
		return "", &fabric.AddressError{Addr: addr, Reason: "it must be sim:NAME or sim:NAME:SERVICE"}
	}
	return name, nil
}

func (l *listener) Addr() string { return l.addr }

func (l *listener) Close() error {
	l.host.world.mu.Lock()
	defer l.host.world.mu.Unlock()
	delete(l.host.listeners, l.addr)
	return nil
}

// on runs a call on a host now, later if it is frozen, never if it is gone.
func (w *World) on(h *Host, call func()) {
	w.mu.Lock()
	switch h.state {
	case frozen:
		w.n++
		h.deferred = append(h.deferred, &event{n: w.n, host: h, call: call})
		w.mu.Unlock()
	case gone:
		w.mu.Unlock()
	default:
		w.mu.Unlock()
		call()
	}
}
