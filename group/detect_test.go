package group

import (
	"testing"
	"time"
)

// TestDeathIsNoSilence: that a member's connections have ended is enough to go on without it; nobody waits for its
// silence to last, here for hours.
func TestDeathIsNoSilence(t *testing.T) {
	c := newCrew(t, 3)
	for i := range c.founders { // machines of their own: nothing but connections tells of a death
		c.founders[i].Host = string(rune('a' + i))
	}
	c.config = func(config *Config) { config.Suspect = 100 * time.Hour }
	hands := c.train(20, func(h *hand, i int, s *Step, r Result) {
		if i == 1 && r.Step == 10 {
			h.Close() //nolint:errcheck // it dies
		}
	})
	for _, i := range []int{0, 2} {
		if hands[i].err != nil || hands[i].model.step != 20 {
			t.Errorf("w%d ends after step %d: %v", i, hands[i].model.step, hands[i].err)
		}
	}
	c.check(hands[0], hands[2])
}
