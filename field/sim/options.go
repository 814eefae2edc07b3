package sim

import (
	"fmt"
	"math"
)

// Policy says which packet a full buffer loses.
type Policy string

// Policies.
const (
	DropOldest Policy = "oldest"
	DropNewest Policy = "newest"
)

// Until says when a simulation has seen enough.
type Until string

// Ends of a simulation; each also ends after Options.Rounds.
const (
	FirstDeath Until = "first-death"
	TenPercent Until = "ten-percent"
	Partition  Until = "partition" // the default
	AllRounds  Until = "rounds"
)

// Options steer a simulation. The zero value simulates a lossless network with unbounded buffers until it falls apart.
type Options struct {
	Seed    uint64  `json:"seed"`    // of phases and losses
	Rounds  int     `json:"rounds"`  // at most; 0 means a million
	Until   Until   `json:"until"`   // "" means Partition
	Loss    float64 `json:"loss"`    // part of attempts that fail, beside those that ETX tells
	Retries int     `json:"retries"` // attempts after the first one; 0 means 15, negative none
	Buffer  int     `json:"buffer"`  // packets that a node holds; 0 means no bound
	Policy  Policy  `json:"policy"`  // "" means DropOldest
	Listen  float64 `json:"listen"`  // part of the time, 0 to 1, that a radio with nothing to do listens instead of sleeping
	// Progress, when not nil, is called after each block of rounds with the number of rounds done.
	Progress func(rounds int) `json:"-"`
}

// OptionError is an option that makes no sense.
type OptionError struct{ Option, Problem string }

func (e *OptionError) Error() string { return e.Option + ": " + e.Problem }

// settle fills in defaults and checks ranges.
func (o Options) settle() (Options, error) {
	bad := func(option, format string, args ...any) (Options, error) {
		return o, &OptionError{option, fmt.Sprintf(format, args...)}
	}
	if o.Rounds == 0 {
		o.Rounds = 1_000_000
	}
	if o.Until == "" {
		o.Until = Partition
	}
	if o.Policy == "" {
		o.Policy = DropOldest
	}
	if o.Retries == 0 {
		o.Retries = 15
	}
	o.Retries = max(o.Retries, 0)
	switch {
	case o.Rounds < 0 || o.Rounds > math.MaxInt32:
		return bad("rounds", "%d is not from 1 to %d", o.Rounds, math.MaxInt32)
	case o.Until != FirstDeath && o.Until != TenPercent && o.Until != Partition && o.Until != AllRounds:
		return bad("until", "%q is none of %s, %s, %s, %s", o.Until, FirstDeath, TenPercent, Partition, AllRounds)
	case o.Policy != DropOldest && o.Policy != DropNewest:
		return bad("policy", "%q is neither %s nor %s", o.Policy, DropOldest, DropNewest)
	case !(o.Loss >= 0 && o.Loss < 1):
		return bad("loss", "%g is not from 0 to below 1", o.Loss)
	case !(o.Listen >= 0 && o.Listen <= 1):
		return bad("listen", "%g is not from 0 to 1", o.Listen)
	case o.Buffer < 0:
		return bad("buffer", "%d packets is negative", o.Buffer)
	}
	return o, nil
}
