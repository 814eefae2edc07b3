package harness

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// Entrant is one contender of a race: a variant of a peer.
type Entrant struct {
	Peer    *Peer
	Row     string // the peer's name of what is raced
	Variant string
	Label   string // in reports
	Quantum int    // steps come in multiples of it; 0 means 1

	Loaded  Loaded
	Bursts  []Burst
	Failure error // why it takes no part

	steps int // of a burst
}

// Pace says how long a race is.
type Pace struct {
	Burst  time.Duration // of one turn of one entrant
	Rounds int
}

// settle is the pause before each turn, in which the machine finishes what the turn before left behind.
const settle = 5 * time.Millisecond

// Race loads all entrants, lets them take turns, and drops them.
func Race(ctx context.Context, entrants []*Entrant, pace Pace) error {
	if err := Load(entrants, pace.Burst); err != nil {
		return err
	}
	for round := range pace.Rounds {
		if err := Turns(ctx, entrants, round); err != nil {
			return err
		}
	}
	return Drop(entrants)
}

// Load makes the entrants ready and fits their steps to the length of a burst. An entrant whose
// peer cannot do the row gets a Failure and stands aside; any other error ends the race.
func Load(entrants []*Entrant, burst time.Duration) error {
	for _, e := range entrants {
		if err := e.Stand(e.ready(burst)); err != nil {
			return err
		}
	}
	return nil
}

// Turns lets every entrant have one turn; who begins depends on the round.
func Turns(ctx context.Context, entrants []*Entrant, round int) error {
	for turn := range entrants {
		e := entrants[(turn+round)%len(entrants)]
		if e.Failure != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(settle)
		b, err := e.Peer.Run(e.Row, e.Variant, e.steps)
		if err == nil && (math.IsNaN(b.Loss) || math.IsInf(b.Loss, 0)) {
			err = &PeerError{e.Label, "run " + e.Row, "result is not finite"}
		}
		if err := e.Stand(err); err != nil {
			return err
		}
		if e.Failure == nil {
			e.Bursts = append(e.Bursts, b)
		}
	}
	return nil
}

// Drop frees what Load made.
func Drop(entrants []*Entrant) error {
	for _, e := range entrants {
		if err := e.Peer.Drop(e.Row, e.Variant); err != nil && e.Failure == nil {
			return err
		}
	}
	return nil
}

// Stand makes a peer's own error the entrant's failure and passes on any other.
func (e *Entrant) Stand(err error) error {
	var failed *PeerError
	if errors.As(err, &failed) {
		e.Failure = err
		return nil
	}
	return err
}

// ready loads an entrant and finds how many steps fill a burst.
func (e *Entrant) ready(burst time.Duration) error {
	var err error
	if e.Loaded, err = e.Peer.Load(e.Row, e.Variant); err != nil {
		return err
	}
	quantum := max(e.Quantum, 1)
	for e.steps = quantum; ; {
		b, err := e.Peer.Run(e.Row, e.Variant, e.steps)
		if err != nil {
			return err
		}
		want := float64(e.steps/quantum) * burst.Seconds() / b.Wall
		if b.Wall > burst.Seconds()/4 {
			e.steps = quantum * max(1, int(math.Round(want)))
			return nil
		}
		e.steps = quantum * max(2*e.steps/quantum, int(want/2))
	}
}

// Follow makes the entrant run what another has loaded, in bursts of the same length.
func (e *Entrant) Follow(other *Entrant) { e.steps, e.Failure = other.steps, other.Failure }

// Clock is which of a burst's times counts.
type Clock string

// The clocks.
const (
	Wall Clock = "wall"
	CPU  Clock = "cpu"
)

// Of is the clock's seconds per step of a burst.
func (c Clock) Of(b Burst) float64 {
	if c == CPU {
		return b.CPU / float64(b.Steps)
	}
	return b.Wall / float64(b.Steps)
}

// Median is the entrant's median seconds per step; NaN when it has not run.
func (e *Entrant) Median(c Clock) float64 {
	var t []float64
	for _, b := range e.Bursts {
		t = append(t, c.Of(b))
	}
	return Median(t)
}

// Best is the entrant with the least median among those that ran and match; nil if none.
func Best(c Clock, entrants []*Entrant, match func(*Entrant) bool) *Entrant {
	var best *Entrant
	for _, e := range entrants {
		if e.Failure != nil || len(e.Bursts) == 0 || !match(e) {
			continue
		}
		if best == nil || e.Median(c) < best.Median(c) {
			best = e
		}
	}
	return best
}

// Spread is half the interquartile range, in shares of the median, of the ratio of a to b round by
// round: how far a repeated race may land from this one.
func Spread(c Clock, a, b *Entrant) float64 {
	var r []float64
	for i := range min(len(a.Bursts), len(b.Bursts)) {
		r = append(r, c.Of(a.Bursts[i])/c.Of(b.Bursts[i]))
	}
	return Scatter(r)
}

// Scatter is half the interquartile range of values, in shares of their median.
func Scatter(v []float64) float64 { return (Quantile(v, 0.75) - Quantile(v, 0.25)) / 2 / Median(v) }

// Median of values; NaN of none.
func Median(v []float64) float64 { return Quantile(v, 0.5) }

// Quantile of values, interpolated; NaN of none.
func Quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	at := q * float64(len(s)-1)
	lo := int(at)
	hi := min(lo+1, len(s)-1)
	return s[lo] + (at-float64(lo))*(s[hi]-s[lo])
}
