package control

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Loop drives policies over the signals of one run.
type Loop struct {
	journal  *Journal
	policies []Policy
	apply    func(Decision) error

	deciding sync.Mutex // held by Decide, Resume and Finish, also while apply runs

	mu      sync.Mutex
	history *History
	fresh   bool // signals came since the policies were last asked
	pending []Decision
	failed  error
}

// Config is what a loop is made of.
type Config struct {
	// Settings are the subjects that policies may change, and their values as
	// the run begins.
	Settings map[string]Setting
	// Policies are asked in this order; of two that would change the same
	// subject at the same point the first wins.
	Policies []Policy
	// Apply puts a decision into force. It is called from Decide, may call
	// Observe, and must not call Decide.
	Apply func(Decision) error
}

// NewLoop makes a loop that writes to the journal. Each policy needs a first
// setting of its subject.
func NewLoop(journal *Journal, config Config) (*Loop, error) {
	l := &Loop{journal: journal, policies: config.Policies, apply: config.Apply, history: newHistory()}
	seen := map[author]bool{}
	for _, p := range config.Policies {
		who := author{p.Name(), p.Subject()}
		if seen[who] {
			return nil, fmt.Errorf("two policies %q for %q", who.policy, who.subject)
		}
		seen[who] = true
		if _, known := config.Settings[who.subject]; !known {
			return nil, fmt.Errorf("policy %q: there is no setting %q", who.policy, who.subject)
		}
	}
	for subject, value := range config.Settings {
		if !value.finite() {
			return nil, fmt.Errorf("setting %q: %v is not finite", subject, value)
		}
		l.history.settings[subject] = value
	}
	return l, nil
}

// Start records the first settings of a new run.
func (l *Loop) Start(point uint64, now time.Time) error {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	for _, subject := range sortedKeys(l.history.settings) {
		first := &Assignment{Subject: subject, Value: l.history.settings[subject], Point: point, Time: now}
		if err := l.journal.append(Record{Setting: first}, true); err != nil {
			return err
		}
	}
	return nil
}

// Observe takes a signal. It may be called from any goroutine; the order of
// the calls is the order of the history, and points must not decrease within a
// signal. In the steady state it allocates nothing.
func (l *Loop) Observe(s Signal) error {
	if s.Name == "" {
		return errors.New("a signal has no name")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.history.Signals(s.Name); len(all) > 0 && all[len(all)-1].Point > s.Point {
		return fmt.Errorf("signal %q: point %d comes after point %d", s.Name, s.Point, all[len(all)-1].Point)
	}
	if err := l.journal.append(Record{Signal: s}, false); err != nil {
		return err
	}
	l.history.observe(s)
	l.fresh = true
	return nil
}

// Decide is called at a consistent point of the data's flow. It looks back at
// the decisions whose horizon has passed, asks the policies and applies what
// they propose. Without new signals it does nothing.
func (l *Loop) Decide(point uint64, now time.Time) error {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	decisions, err := l.propose(point, now)
	for _, d := range decisions {
		if failed := l.enact(d); failed != nil {
			return failed
		}
	}
	return err
}

// propose asks the policies, journals what they propose and returns it, also
// what came before an error.
func (l *Loop) propose(point uint64, now time.Time) (accepted []Decision, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil || !l.fresh {
		return nil, l.failed
	}
	if err := l.journal.append(Record{Mark: &Mark{Point: point, Time: now}}, false); err != nil {
		return nil, err
	}
	l.fresh = false
	if err := l.lookBack(point, now, func(d *Decision) bool { return point >= d.Point+d.Expect.Horizon }); err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for _, p := range l.policies {
		proposal, wanted := p.Propose(l.history)
		if !wanted || changed[p.Subject()] {
			continue
		}
		d, err := l.accept(Taken{p.Name(), p.Subject(), proposal}, false, point, now)
		if err != nil {
			return accepted, err
		}
		changed[d.Subject] = true
		accepted = append(accepted, d)
	}
	return accepted, nil
}

// Take records a decision that is in force already.
func (l *Loop) Take(t Taken, point uint64, now time.Time) error {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.accept(t, true, point, now)
	return err
}

func (l *Loop) accept(t Taken, elsewhere bool, point uint64, now time.Time) (Decision, error) {
	d := Decision{
		ID: l.journal.newestDecision() + 1, Time: now, Point: point, Policy: t.Policy, Subject: t.Subject,
		Old: l.history.Setting(t.Subject), New: t.New, Elsewhere: elsewhere,
		Reason: t.Reason, Signals: t.Signals, Expect: t.Expect, Trial: t.Trial,
	}
	if !d.New.finite() {
		return d, fmt.Errorf("policy %q proposes %v for %q", d.Policy, d.New, d.Subject)
	}
	if e := d.Expect; e != nil && (math.IsNaN(e.Value) || math.IsInf(e.Value, 0)) {
		return d, fmt.Errorf("policy %q expects %v of %q", d.Policy, e.Value, e.Signal)
	}
	// A newer decision on the same subject ends the older one's horizon.
	err := l.lookBack(point, now, func(old *Decision) bool { return old.Subject == d.Subject })
	if err != nil {
		return d, err
	}
	if err := l.journal.append(Record{Decision: &d}, true); err != nil {
		return d, err
	}
	l.history.decide(d)
	if d.Expect != nil {
		l.pending = append(l.pending, d)
	}
	return d, nil
}

// enact applies a decision; a decision that confirms the setting in force
// needs no applying.
func (l *Loop) enact(d Decision) error {
	if d.New == d.Old {
		return nil
	}
	err := l.apply(d)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = slices.DeleteFunc(l.pending, func(p Decision) bool { return p.ID == d.ID })
	l.failed = fmt.Errorf("decision %d (%s): %w", d.ID, d.Change(), err)
	failure := &Outcome{Decision: d.ID, Time: d.Time, Point: d.Point, Failed: err.Error()}
	return errors.Join(l.failed, l.journal.append(Record{Outcome: failure}, true))
}

// lookBack records the outcome of the pending decisions that are due.
func (l *Loop) lookBack(point uint64, now time.Time, due func(*Decision) bool) error {
	for i := 0; i < len(l.pending); {
		d := &l.pending[i]
		if !due(d) {
			i++
			continue
		}
		_, samples := split(l.history.Signals(d.Expect.Signal), d.Point)
		samples, _ = split(samples, min(point, d.Point+d.Expect.Horizon))
		outcome := &Outcome{
			Decision: d.ID, Time: now, Point: point,
			Samples: len(samples), Value: d.Expect.Statistic.of(samples),
		}
		if err := l.journal.append(Record{Outcome: outcome}, true); err != nil {
			return err
		}
		l.pending = append(l.pending[:i], l.pending[i+1:]...)
	}
	return nil
}

// of reduces samples to one number, 0 for none.
func (s Statistic) of(samples []Signal) float64 {
	if len(samples) == 0 {
		return 0
	}
	if s == Median {
		return median(samples)
	}
	direction := Lower
	if s == Highest {
		direction = Higher
	}
	best := samples[0].Value
	for _, sample := range samples[1:] {
		if direction.better(sample.Value, best, 0) {
			best = sample.Value
		}
	}
	return best
}

// Finish looks back at every decision that is still pending, with what was
// measured so far. The run is over or pauses at this point.
func (l *Loop) Finish(point uint64, now time.Time) error {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lookBack(point, now, func(*Decision) bool { return true })
}

// Setting returns the setting of a subject that is in force.
func (l *Loop) Setting(subject string) Setting {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history.Setting(subject)
}
