package group

import (
	"strings"
	"sync"
	"testing"
)

// TestWhoKeepsTheState lets workers leave: one of those that leave together, if nobody goes on, is told that it is to keep
// the state; with one that dies in the same step, and with the first to leave, too.
func TestWhoKeepsTheState(t *testing.T) {
	for name, end := range map[string][]string{ // for each worker "goes", "leaves" or "dies" with step 10; * for who keeps the state
		"all at once":               {"leaves*", "leaves", "leaves"},
		"one goes on":               {"leaves", "goes", "leaves"},
		"the first dies":            {"dies", "leaves*", "leaves"},
		"all but one die":           {"dies", "dies", "leaves*"},
		"one dies and one goes on":  {"goes", "dies", "leaves"},
		"the last is all there was": {"leaves*"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t, len(end))
			register := &fallible{}
			c.config = func(config *Config) { config.Authority = ByRegister(register) }
			ctx := c.deadline()
			hands := c.found()
			var all sync.WaitGroup
			for i, h := range hands {
				last := map[string]uint64{"goes": 20, "dies": 9}[end[i]]
				if last == 0 {
					last = 30
				}
				all.Go(func() {
					h.err = h.model.train(ctx, h.Worker, last, func(s *Step, r Result) {
						if r.Step == 9 && strings.HasPrefix(end[i], "leaves") {
							h.hand(func(lp *loop) { lp.leave() })
						}
					})
					if end[i] == "dies" { // in step 10
						_, h.err = h.Begin(ctx)
						h.Close() //nolint:errcheck // it dies
					}
				})
			}
			all.Wait()
			for i, h := range hands {
				if keeps := strings.HasSuffix(end[i], "*"); h.err != nil || h.model.keeps != keeps {
					t.Errorf("%s, which %s, ends with step %d: %v; it keeps the state: %v", h.config.Self.Name, end[i], h.model.step, h.err, h.model.keeps)
				}
			}
		})
	}
}
