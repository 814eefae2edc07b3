package sim

import (
	"container/heap"
	"io"
	"syscall"

	"millrace.dev/fabric"
)

// Kill ends the process of a host at once. Its peers get what was under way,
// then io.EOF or a reset.
func (w *World) Kill(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(name, "kill")
}

// Vanish takes the machine of a host off the network without a word.
func (w *World) Vanish(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(name, "vanish")
}

func (w *World) end(name, how string) {
	h := w.hosts[name]
	if h == nil || h.state == gone {
		return
	}
	w.record(how, h, h, fabric.Header{})
	h.state, h.vanished = gone, how == "vanish"
	h.listeners, h.deferred = nil, nil
	for _, c := range h.conns {
		if c.closed {
			continue
		}
		c.closed = true
		c.drop()
		if h.vanished || c.peer == nil {
			continue
		}
		if w.random.Uint64()&1 == 0 {
			c.tell("close", io.EOF)
		} else {
			c.tell("reset", syscall.ECONNRESET)
		}
	}
	h.conns = nil
}

// Freeze stops the process of a host, as SIGSTOP does.
func (w *World) Freeze(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.hosts[name]; h != nil && h.state == running {
		w.record("freeze", h, h, fabric.Header{})
		h.state = frozen
	}
}

// Thaw lets a frozen host go on. It first handles what came meanwhile.
func (w *World) Thaw(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[name]
	if h == nil || h.state != frozen {
		return
	}
	w.record("thaw", h, h, fabric.Header{})
	h.state = running
	for _, e := range h.deferred {
		if e.call == nil { // a timer that was stopped
			continue
		}
		w.n++
		e.at, e.n = w.now, w.n
		heap.Push(&w.events, e)
	}
	h.deferred = nil
}

// Partition divides the hosts: nothing passes between groups. Hosts that are in
// none form one more. It replaces an earlier partition.
func (w *World) Partition(groups ...[]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group = map[string]int{}
	for i, names := range groups {
		for _, name := range names {
			w.group[name] = i + 1
		}
	}
	w.release()
}

// Heal ends a partition.
func (w *World) Heal() { w.Partition() }

// blocked tells whether nothing passes from a host to another.
func (w *World) blocked(from, to *Host) bool {
	return w.group[from.name] != w.group[to.name] || to.vanished
}

// release lets go what a partition held and holds no more.
func (w *World) release() {
	still := w.stalled[:0]
	for _, c := range w.stalled {
		if w.blocked(c.host, c.peer.host) {
			still = append(still, c)
			continue
		}
		for _, arrive := range c.held {
			c.pass(arrive)
		}
		c.held = nil
	}
	clear(w.stalled[len(still):])
	w.stalled = still
}
