package group

import (
	"context"
	"sync"
	"testing"
	"time"

	"millrace.dev/fabric"
)

// gate is a network that keeps a verdict from its worker until it is opened.
type gate struct {
	fabric.Network
	verdicts int // until the one that is kept
	kept     chan struct{}
	open     chan struct{}
}

type gateHandler struct {
	fabric.Handler
	g *gate
}

func (g *gate) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	return g.Network.Listen(addr, func(c fabric.Conn) (fabric.Handler, error) {
		h, err := accept(c)
		return &gateHandler{h, g}, err
	})
}

func (g *gate) Dial(addr string, h fabric.Handler) fabric.Conn {
	return g.Network.Dial(addr, &gateHandler{h, g})
}

func (h *gateHandler) Frame(c fabric.Conn, head fabric.Header, body []byte) error {
	if kindOf(head, body) == "verdict" {
		if h.g.verdicts--; h.g.verdicts == 0 {
			close(h.g.kept)
			<-h.g.open
		}
	}
	return h.Handler.Frame(c, head, body)
}

// TestSettle keeps the last step's verdict from one of three workers: the others, which have it, stay until it has, too.
func TestSettle(t *testing.T) {
	const last = 10
	g := &gate{verdicts: last, kept: make(chan struct{}), open: make(chan struct{})}
	c := newCrew(t, 3)
	c.config = func(config *Config) {
		config.Suspect = time.Hour
		if config.Self.Name == "w2" { // a leaf of the tree: it hears verdicts from rank 0 alone
			g.Network = config.Network
			config.Network = g
		}
	}
	ctx := c.deadline()
	var hands []*hand
	var all sync.WaitGroup
	settled := make(chan string, 3)
	for _, m := range c.founders {
		h := c.start(m)
		hands = append(hands, h)
		all.Go(func() {
			if h.err = h.model.train(ctx, h.Worker, last, nil); h.err == nil {
				h.err = h.Settle(ctx)
			}
			settled <- m.Name
		})
	}
	<-g.kept
	for _, h := range hands[:2] {
		for h.Status().Step < last {
			time.Sleep(time.Millisecond)
		}
	}
	select {
	case name := <-settled:
		t.Errorf("%s does not wait for w2", name)
	case <-time.After(3 * DefaultHeartbeat):
	}
	close(g.open)
	all.Wait()
	for _, h := range hands {
		if h.err != nil || h.model.step != last {
			t.Errorf("%s ends with step %d: %v", h.config.Self.Name, h.model.step, h.err)
		}
	}
	c.check(hands...)
}

// TestSettleEnds says how waiting for the others ends without them.
func TestSettleEnds(t *testing.T) {
	c := newCrew(t, 2)
	ctx := c.deadline()
	w := c.start(c.founders[0]) // the other one never comes
	short, cancel := context.WithCancel(ctx)
	cancel()
	w.loop.w.hand(func(lp *loop) { lp.account.Step = 1 })
	if err := w.Settle(short); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
	w.stop()
	if err := w.Settle(ctx); err != ErrClosed {
		t.Errorf("closed: %v", err)
	}
}

// TestSettleWithoutTheLost has a worker end whose word on the last step is lost with it: nobody waits for that.
func TestSettleWithoutTheLost(t *testing.T) {
	const last = 5
	c := newCrew(t, 2)
	c.config = func(config *Config) {
		config.Suspect = time.Hour
		if config.Self.Name == "w1" {
			config.Network = &sieve{config.Network, func(h fabric.Header) bool { return h.Step < last || dataFrame(h.Type) }}
		}
	}
	ctx := c.deadline()
	var hands []*hand
	var all sync.WaitGroup
	for i, m := range c.founders {
		h := c.start(m)
		hands = append(hands, h)
		all.Go(func() {
			if h.err = h.model.train(ctx, h.Worker, last, nil); h.err == nil && i == 0 {
				h.err = h.Settle(ctx)
			}
			h.stop()
		})
	}
	all.Wait()
	for _, h := range hands {
		if h.err != nil || h.model.step != last {
			t.Errorf("%s ends with step %d: %v", h.config.Self.Name, h.model.step, h.err)
		}
	}
}
