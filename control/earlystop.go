package control

import "fmt"

// The settings between which EarlyStop changes.
var (
	Run  = Word("run")
	Stop = Word("stop")
)

// EarlyStop ends the work when a signal has not improved by more than Delta
// for Patience samples: it changes its setting from Run to Stop.
type EarlyStop struct {
	Setting  string // subject, such as "training"
	Signal   string
	Better   Direction
	Delta    float64 // smallest change that counts as an improvement, ≥ 0
	Patience int     // samples, ≥ 1
}

// Name returns "early stop".
func (EarlyStop) Name() string { return "early stop" }

// Subject returns the setting that is changed to Stop.
func (e EarlyStop) Subject() string { return e.Setting }

// Propose stops the work when the signal stalls.
func (e EarlyStop) Propose(h *History) (Proposal, bool) {
	s := measureStall(h.Signals(e.Signal), e.Better, e.Delta, 0)
	if s.bad < max(e.Patience, 1) || h.Setting(e.Setting) == Stop {
		return Proposal{}, false
	}
	return Proposal{
		New:     Stop,
		Reason:  fmt.Sprintf("%v (patience %d, smallest improvement %s)", s, e.Patience, formatNumber(e.Delta)),
		Signals: []Signal{s.best, s.last},
	}, true
}
