package group

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace.dev/fabric"
)

// sieve is a network that swallows some of the frames that its worker sends.
type sieve struct {
	fabric.Network
	passes func(fabric.Header) bool
}

type sieved struct {
	fabric.Conn
	passes func(fabric.Header) bool
}

func (s *sieve) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	return s.Network.Listen(addr, func(c fabric.Conn) (fabric.Handler, error) { return accept(sieved{c, s.passes}) })
}

func (s *sieve) Dial(addr string, h fabric.Handler) fabric.Conn {
	return sieved{s.Network.Dial(addr, h), s.passes}
}

func (c sieved) Send(p fabric.Priority, h fabric.Header, body []byte, done func(error)) {
	h.Length = uint32(len(body))
	if c.passes(h) {
		c.Conn.Send(p, h, body, done)
	}
}

// TestSourceDies: when a member dies that has given half of its stripe of the state, another one gives the rest, and no
// byte of what has come is sent again.
func TestSourceDies(t *testing.T) {
	const last = 30
	c := newCrew(t, 3)
	c.elements = 1 << 19
	ctx := c.deadline()
	var parts atomic.Int64 // bytes of the state that were sent
	lateID := NewID()
	c.config = func(x *Config) {
		who := x.Self.Name
		half := int64(0)
		x.Network = &sieve{x.Network, func(h fabric.Header) bool {
			switch {
			case dataFrame(h.Type): // the first step with the newcomer is not reduced
				return who != "w1" || h.Epoch != 2
			case h.Type == typePart && who == "w2":
				if half += int64(h.Length); half > 2*partBytes {
					return false
				}
			}
			if h.Type == typePart {
				parts.Add(int64(h.Length))
			}
			return true
		}}
	}
	for i := range c.founders {
		c.founders[i].Host = string(rune('a' + i)) // the ring
	}
	var all sync.WaitGroup
	var hands []*hand
	begun := make(chan struct{})
	for i, m := range c.founders {
		h := c.start(m)
		hands = append(hands, h)
		all.Go(func() {
			h.err = h.model.train(ctx, h.Worker, last, func(s *Step, r Result) {
				if i == 0 && r.Step == 5 {
					close(begun)
				}
				if r.Step >= 5 && !r.View.Has(lateID) {
					time.Sleep(time.Duration(r.Step*r.Step) * time.Millisecond) // there is time to join
				}
			})
		})
	}
	<-begun
	h := c.start(Member{ID: lateID, Name: "late", Addr: c.addr("late"), Host: "z"}, c.founders[0].Addr)
	all.Go(func() { h.err = h.model.train(ctx, h.Worker, last, nil) })
	size := newToy(c.elements).Size()
	lo, _ := stripeBounds(size, 2, 3)
	for came := int64(0); came < lo+2*partBytes; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("%d of %d bytes have come; %+v", came, size, h.Status())
		}
		if in := h.intake.Load(); in != nil {
			_, came = in.progress()
		}
	}
	hands[2].Close() //nolint:errcheck // it dies
	all.Wait()
	for _, h := range []*hand{hands[0], hands[1], h} {
		if h.err != nil {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
	}
	c.check(hands[0], hands[1], h)
	if parts.Load() != size {
		t.Errorf("%d bytes were sent of a state of %d", parts.Load(), size)
	}
}
