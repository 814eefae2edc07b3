package group

import (
	"sync/atomic"
	"testing"
)

// TestChanging hears of a change of the view before its first step, and of none where there is none.
func TestChanging(t *testing.T) {
	c := newCrew(t, 3)
	told := map[string]*atomic.Int64{}
	for _, m := range c.founders {
		told[m.Name] = new(atomic.Int64)
	}
	c.config = func(config *Config) {
		n := told[config.Self.Name]
		config.Changing = func() { n.Add(1) }
	}
	hands := c.train(40, func(h *hand, i int, _ *Step, r Result) {
		if i == 2 && r.Step == 10 {
			h.Leave()
		}
		if heard := told[h.config.Self.Name].Load(); r.Step <= 10 && heard > 0 || len(r.View.Members) == 2 && heard == 0 {
			t.Errorf("%s has heard of %d changes at step %d with %d members", h.config.Self.Name, heard, r.Step, len(r.View.Members))
		}
	})
	for _, h := range hands {
		if h.err != nil {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
	}
}
