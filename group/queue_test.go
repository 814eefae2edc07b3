package group

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace.dev/fabric"
)

func TestQueueLimit(t *testing.T) {
	for elements, want := range map[int]int{1: 64, 2 << 20: 64, 25e6: 5, 60e6: 2, 1 << 30: 2} {
		if got := queueLimit(elements); got != want {
			t.Errorf("%d results of %d elements, not %d", got, elements, want)
		}
	}
}

// dam keeps back the parts of states that its worker sends, until it is opened.
type dam struct {
	fabric.Network
	*flow
}

type flow struct {
	mu   sync.Mutex
	open bool
	kept []func()
}

func (d *dam) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	return d.Network.Listen(addr, func(c fabric.Conn) (fabric.Handler, error) { return accept(&dammed{c, d.flow}) })
}

type dammed struct {
	fabric.Conn
	*flow
}

func (c *dammed) Send(p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	send := func() { c.Conn.Send(p, h, body, done) }
	c.mu.Lock()
	keep := h.Type == typePart && !c.open
	if keep {
		c.kept = append(c.kept, send)
	}
	c.mu.Unlock()
	if !keep {
		send()
	}
}

// release opens the dam, and says whether it held something back.
func (f *flow) release() bool {
	f.mu.Lock()
	f.open = true
	kept := f.kept
	f.kept = nil
	f.mu.Unlock()
	for _, send := range kept {
		send()
	}
	return len(kept) > 0
}

// TestSlowState: the members take many steps while a joiner's state is on its way; it catches up.
func TestSlowState(t *testing.T) {
	for _, hosts := range []int{1, 3} {
		t.Run(map[int]string{1: "shared memory", 3: "sockets"}[hosts], func(t *testing.T) { slowState(t, hosts) })
	}
}

func slowState(t *testing.T, hosts int) {
	const last, ahead = 200, maxQueue / 3
	c := newCrew(t, 2)
	ctx := c.deadline()
	water := &flow{}
	c.config = func(x *Config) {
		if len(x.Join) == 0 {
			x.Network = &dam{x.Network, water}
		}
	}
	var all sync.WaitGroup
	var hands []*hand
	begun := make(chan struct{})
	gave := uint64(0)              // the first step of which the joiner took a share
	var sharing atomic.Bool        // it has
	with, held := uint64(0), false // the first step of three members; whether the state was still to come
	for i, m := range c.founders {
		m.Host = string(rune('a' + i%hosts))
		c.founders[i] = m
	}
	for i, m := range c.founders {
		h := c.start(m)
		hands = append(hands, h)
		all.Go(func() {
			h.err = h.model.train(ctx, h.Worker, last, func(s *Step, r Result) {
				switch {
				case i > 0:
				case r.Step == 5:
					close(begun)
				case with == 0 && len(r.View.Members) == 3:
					with = r.Step
				case with > 0 && r.Step == with+ahead:
					held = water.release()
				}
				if i == 0 && r.Step > 5 && !sharing.Load() {
					time.Sleep(5 * time.Millisecond) // there is time to join, and to catch up
				}
			})
		})
	}
	<-begun
	late := c.start(Member{Name: "late", Addr: c.addr("late"), Host: string(rune('a' + 2%hosts))}, c.founders[0].Addr)
	hands = append(hands, late)
	all.Go(func() {
		late.err = late.model.train(ctx, late.Worker, last, func(s *Step, _ Result) {
			if gave == 0 && s.Weight > 0 {
				gave = s.Number
				sharing.Store(true)
			}
		})
	})
	all.Wait()
	for _, h := range hands {
		if h.err != nil {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
	}
	c.check(hands...)
	t.Logf("let in with step %d, a share from step %d on", with, gave)
	if with == 0 || !held || gave <= with+ahead {
		t.Errorf("three members from step %d on, parts of the state held back for %d steps: %v, a share from step %d on", with, ahead, held, gave)
	}
}
