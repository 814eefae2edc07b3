package control

import (
	"fmt"
	"math"
)

// Policy decides about one setting. Propose must be a pure function of the
// history: it keeps no state, and it knows of time only what signals tell.
type Policy interface {
	Name() string    // what it is, such as "plateau"; unique for its subject
	Subject() string // the setting it proposes to change
	// Propose returns a change and true, or false to leave things as they are.
	Propose(h *History) (Proposal, bool)
}

// Proposal is the change that a policy asks for.
type Proposal struct {
	New     Setting
	Reason  string   // in words, for people
	Signals []Signal // what it rests on; must not alias the history
	Expect  *Expectation
	Trial   bool // made to learn what the setting brings
}

// Taken is a decision that was made elsewhere, as by all workers of a group together, and is in force
// already. Policy names who made it.
type Taken struct {
	Policy, Subject string
	Proposal
}

// Direction says which values of a signal are better.
type Direction int

// The two directions.
const (
	Lower  Direction = iota // such as a loss
	Higher                  // such as an accuracy or a throughput
)

// better reports whether value improves on best by more than delta. A value
// that is not a number never does; it is improved upon by every number.
func (d Direction) better(value, best, delta float64) bool {
	if math.IsNaN(best) {
		return !math.IsNaN(value)
	}
	if d == Higher {
		return value > best+delta
	}
	return value < best-delta
}

// step returns value made better by delta.
func (d Direction) step(value, delta float64) float64 {
	if d == Higher {
		return value + delta
	}
	return value - delta
}

// statistic is how the best of several samples is taken.
func (d Direction) statistic() Statistic {
	if d == Higher {
		return Highest
	}
	return Lowest
}

// stall is how long a signal has not improved.
type stall struct {
	best Signal
	last Signal
	bad  int    // samples since the best one, or since the last restart
	span uint64 // points that one sample stands for
}

// measureStall walks over the samples; restart is the point after which
// counting begins anew (the best so far stays).
func measureStall(samples []Signal, better Direction, delta float64, restart uint64) (s stall) {
	for i, sample := range samples {
		if i == 0 || better.better(sample.Value, s.best.Value, delta) {
			s.best, s.bad = sample, 0
		} else if sample.Point > restart {
			s.bad++
		}
		if i > 0 && sample.Point > s.last.Point {
			s.span = sample.Point - s.last.Point
		}
		s.last = sample
	}
	return s
}

func (s stall) String() string {
	return fmt.Sprintf("%s has not improved on %s for %d measurements",
		s.best.Name, formatNumber(s.best.Value), s.bad)
}
