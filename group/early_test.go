package group

import (
	"sync"
	"testing"

	"millrace.dev/fabric"
)

// slowListener is a network whose Listen returns only after a connection was accepted.
type slowListener struct{ fabric.Network }

func (n slowListener) Listen(addr string, accept func(fabric.Conn) (fabric.Handler, error)) (fabric.Listener, error) {
	accepted := make(chan struct{})
	once := sync.OnceFunc(func() { close(accepted) })
	l, err := n.Network.Listen(addr, func(c fabric.Conn) (fabric.Handler, error) {
		defer once()
		return accept(c)
	})
	if err == nil {
		<-accepted
	}
	return l, err
}

// TestEarlyConnection connects to a founder before it has done more than listen: nobody is taken for lost.
func TestEarlyConnection(t *testing.T) {
	c := newCrew(t, 2)
	c.config = func(config *Config) {
		if config.Self.Name == "w0" {
			config.Network = slowListener{config.Network}
		}
	}
	ctx := c.deadline()
	hands := []*hand{c.start(c.founders[1]), c.start(c.founders[0])} // the younger one dials
	var all sync.WaitGroup
	for _, h := range hands {
		all.Go(func() { h.err = h.model.train(ctx, h.Worker, 5, nil) })
	}
	all.Wait()
	for _, h := range hands {
		if h.err != nil {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
	}
	for _, r := range c.check(hands...) {
		if r.View != 1 || len(r.Parts) != 2 {
			t.Errorf("step %d was reduced by %d members in view %d", r.Step, len(r.Parts), r.View)
		}
	}
}
