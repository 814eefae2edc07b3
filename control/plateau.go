package control

import (
	"fmt"
	"math"
)

// Plateau lowers a number, usually the learning rate, when a signal has not
// improved by more than Delta for Patience samples. After a change it counts
// anew, but improvement is still judged against the best sample of all.
type Plateau struct {
	Setting  string // subject, such as "learning rate"
	Signal   string // such as "validation loss"
	Better   Direction
	Delta    float64 // smallest change that counts as an improvement, ≥ 0
	Patience int     // samples, ≥ 1
	Factor   float64 // the setting is multiplied by it, between 0 and 1
	Floor    float64 // the setting is not made smaller than this
}

// Name returns "plateau".
func (Plateau) Name() string { return "plateau" }

// Subject returns the setting that the policy lowers.
func (p Plateau) Subject() string { return p.Setting }

// Propose lowers the setting when the signal stalls.
func (p Plateau) Propose(h *History) (Proposal, bool) {
	var restart uint64
	if past := h.Decisions(p); len(past) > 0 {
		restart = past[len(past)-1].Point
	}
	s := measureStall(h.Signals(p.Signal), p.Better, p.Delta, restart)
	old := h.Setting(p.Setting).Number()
	atFloor := old <= p.Floor*(1+1e-9) // but for rounding
	if s.bad < max(p.Patience, 1) || atFloor {
		return Proposal{}, false
	}
	proposal := Proposal{
		New:     Number(max(old*p.Factor, p.Floor)),
		Reason:  fmt.Sprintf("%v (patience %d, smallest improvement %s)", s, p.Patience, formatNumber(p.Delta)),
		Signals: []Signal{s.best, s.last},
	}
	if goal := p.Better.step(s.best.Value, p.Delta); !math.IsNaN(goal) && !math.IsInf(goal, 0) {
		proposal.Expect = &Expectation{
			Signal: p.Signal, Unit: s.best.Unit, Statistic: p.Better.statistic(),
			Value: goal, Horizon: uint64(p.Patience) * s.span,
		}
	}
	return proposal, true
}
