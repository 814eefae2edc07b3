package control

import (
	"fmt"
	"math"
	"slices"
)

// HillClimb finds the best of a small ordered set of choices, such as thread
// counts, by trying them: from the choice in force it walks down the set while
// each step is an improvement, or else up, and keeps the best. It assumes that
// the signal has one peak over the set. Once it has settled it watches the
// signal and climbs again when it has drifted.
//
// Its decisions are trials, which expect the signal to stay what it is, and
// settlements, which expect what was measured.
type HillClimb struct {
	Setting string
	Signal  string // higher is better, such as "throughput"
	Choices []float64
	Samples int     // a choice is judged by the median of so many samples, ≥ 1
	Skip    int     // samples that are ignored after each change
	Margin  float64 // relative gain that makes a step worth while, such as 0.03
	Drift   float64 // relative change of the signal that starts a new climb, 0: never
	Rest    int     // samples after settling during which drift is not looked for
}

// Name returns "hill climb".
func (HillClimb) Name() string { return "hill climb" }

// Subject returns the setting that is tried out.
func (c HillClimb) Subject() string { return c.Setting }

// trial is one choice in force between two decisions, and what was measured.
type trial struct {
	choice  int // index, -1 when it is none of the choices
	samples []Signal
}

// Propose tries the next choice, settles on the best, or does nothing.
func (c HillClimb) Propose(h *History) (Proposal, bool) {
	past := h.Decisions(c)
	if len(past) > 0 && !past[len(past)-1].Trial {
		return c.watch(h, past[len(past)-1])
	}
	trials, known := c.climb(h, past)
	if !known || trials[0].choice < 0 {
		return Proposal{}, false
	}
	measured := map[int]float64{}
	for _, t := range trials {
		measured[t.choice] = median(t.samples)
	}
	return c.next(trials, measured)
}

// watch starts a new climb when the signal left what the settlement expected.
func (c HillClimb) watch(h *History, settlement Decision) (Proposal, bool) {
	_, samples := split(h.Signals(c.Signal), settlement.Point)
	at := slices.Index(c.Choices, settlement.New.Number())
	if c.Drift <= 0 || at < 0 || len(samples) < c.Skip+c.Rest+max(c.Samples, 1) {
		return Proposal{}, false
	}
	now, then := median(c.tail(samples)), settlement.Expect.Value
	if math.Abs(now-then) <= c.Drift*math.Abs(then) {
		return Proposal{}, false
	}
	next := c.firstStep(at)
	if next == at {
		return Proposal{}, false
	}
	return c.trial(next, c.tail(samples), fmt.Sprintf("%s drifted from %s to %s since the last climb",
		c.Signal, formatNumber(then), formatNumber(now))), true
}

// climb collects the trials since the last settlement, the choice that was in
// force before the first of them included. known is false while one of them
// has not enough samples.
func (c HillClimb) climb(h *History, past []Decision) (trials []trial, known bool) {
	first := len(past)
	for first > 0 && past[first-1].Trial {
		first--
	}
	samples := h.Signals(c.Signal)
	if first > 0 {
		_, samples = split(samples, past[first-1].Point)
	}
	for _, decision := range past[first:] {
		var before []Signal
		before, samples = split(samples, decision.Point)
		if trials, known = c.judge(trials, decision.Old, before); !known {
			return nil, false
		}
	}
	return c.judge(trials, h.Setting(c.Setting), samples)
}

// judge appends the trial of a setting if its samples suffice.
func (c HillClimb) judge(trials []trial, setting Setting, samples []Signal) ([]trial, bool) {
	if len(samples) < c.Skip+max(c.Samples, 1) {
		return trials, false
	}
	return append(trials, trial{slices.Index(c.Choices, setting.Number()), c.tail(samples)}), true
}

// next walks from the first trial's choice over what is measured to the choice
// to try, or to the peak.
func (c HillClimb) next(trials []trial, measured map[int]float64) (Proposal, bool) {
	start := trials[0].choice
	peak := start
	for _, step := range []int{-1, +1} {
		if peak != start {
			break
		}
		for at := peak + step; at >= 0 && at < len(c.Choices); at += step {
			value, known := measured[at]
			if !known {
				return c.try(at, trials), true
			}
			if !(value > measured[peak]*(1+c.Margin)) {
				break
			}
			peak = at
		}
	}
	return c.settle(peak, trials, measured[peak])
}

// firstStep is the neighbour that a climb from a choice tries first.
func (c HillClimb) firstStep(at int) int {
	switch {
	case at > 0:
		return at - 1
	case at+1 < len(c.Choices):
		return at + 1
	}
	return at
}

func (c HillClimb) try(at int, trials []trial) Proposal {
	newest := trials[len(trials)-1]
	return c.trial(at, newest.samples, fmt.Sprintf("%s with %s was %s", c.Signal,
		formatNumber(c.Choices[newest.choice]), formatNumber(median(newest.samples))))
}

// trial proposes a choice to see whether it is at least as good as what the
// samples tell of the one in force.
func (c HillClimb) trial(at int, samples []Signal, reason string) Proposal {
	p := Proposal{New: Number(c.Choices[at]), Reason: "trial: " + reason, Signals: slices.Clone(samples), Trial: true}
	if now := median(samples); !math.IsNaN(now) && !math.IsInf(now, 0) {
		first, last := samples[0], samples[len(samples)-1]
		// It takes as long as the samples did, and those that are ignored.
		span := (last.Point - first.Point) / uint64(max(len(samples)-1, 1))
		p.Expect = &Expectation{
			Signal: c.Signal, Unit: last.Unit, Statistic: Median, Value: now,
			Horizon: max(span, 1) * uint64(c.Skip+len(samples)+1),
		}
	}
	return p
}

func (c HillClimb) settle(peak int, trials []trial, value float64) (Proposal, bool) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return Proposal{}, false
	}
	var reason string
	var rests []Signal
	for i, t := range trials {
		if i > 0 {
			reason += ", "
		}
		reason += fmt.Sprintf("%s with %s", formatNumber(median(t.samples)), formatNumber(c.Choices[t.choice]))
		rests = append(rests, t.samples...)
	}
	newest := trials[len(trials)-1].samples
	last := newest[len(newest)-1]
	return Proposal{
		New:     Number(c.Choices[peak]),
		Reason:  "best " + c.Signal + " of " + reason,
		Signals: rests,
		Expect: &Expectation{
			Signal: c.Signal, Unit: last.Unit, Statistic: Median, Value: value,
			Horizon: max(last.Point-newest[0].Point, 1),
		},
	}, true
}

// tail is the samples that a choice is judged by.
func (c HillClimb) tail(samples []Signal) []Signal {
	return samples[len(samples)-max(c.Samples, 1):]
}

func median(samples []Signal) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.Value
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
