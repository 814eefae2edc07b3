package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"time"
)

// Resume rebuilds the loop's history, settings and pending decisions from the
// journal of an earlier process as they were at a point, and records that the
// run went back to it. It is called instead of Start. The caller puts the
// settings into force. A journal in memory has no earlier process; with it
// only a loop without policies can be resumed.
func (l *Loop) Resume(point uint64, now time.Time) error {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal.path == "" {
		if len(l.policies) > 0 {
			return errors.New("to resume what policies decided, the journal must be a file")
		}
		return nil
	}
	if err := l.journal.append(Record{Rewind: &Mark{Point: point, Time: now}}, true); err != nil {
		return err
	}
	return readInForce(l.journal.path, func(r Record) error {
		l.restore(r)
		return nil
	})
}

func (l *Loop) restore(r Record) {
	switch {
	case r.Signal.Name != "":
		l.history.observe(r.Signal)
		l.fresh = true
	case r.Mark != nil:
		l.fresh = false
	case r.Setting != nil:
		l.history.settings[r.Setting.Subject] = r.Setting.Value
	case r.Decision != nil:
		// It ended the horizon of older ones on its subject.
		l.pending = slices.DeleteFunc(l.pending, func(p Decision) bool { return p.Subject == r.Decision.Subject })
		l.history.decide(*r.Decision)
		if r.Decision.Expect != nil {
			l.pending = append(l.pending, *r.Decision)
		}
	case r.Outcome != nil:
		// One that was observed early, as the earlier process ended, is
		// observed again at the end of its horizon.
		l.pending = slices.DeleteFunc(l.pending, func(p Decision) bool {
			return p.ID == r.Outcome.Decision && r.Outcome.Point >= p.Point+p.Expect.Horizon
		})
	}
}

// rewind is a rewind record and its place among the records of a journal.
type rewind struct {
	at    int
	point uint64
}

// rewinds finds the rewinds of a journal, each with the smallest point that it
// or a later one goes back to.
func rewinds(path string) ([]rewind, error) {
	var found []rewind
	n := 0
	_, err := ReadJournal(path, func(r Record) error {
		if r.Rewind != nil {
			found = append(found, rewind{n, r.Rewind.Point})
		}
		n++
		return nil
	})
	for i := len(found) - 2; i >= 0; i-- {
		found[i].point = min(found[i].point, found[i+1].point)
	}
	return found, err
}

// readMarked yields the records of a journal, each with whether a later
// rewind undid it.
func readMarked(path string, yield func(r Record, undone bool) error) (Summary, error) {
	back, err := rewinds(path)
	if err != nil {
		return Summary{}, err
	}
	n := 0
	return ReadJournal(path, func(r Record) error {
		next := sort.Search(len(back), func(i int) bool { return back[i].at > n })
		limit := uint64(math.MaxUint64)
		if next < len(back) {
			limit = back[next].point
		}
		n++
		return yield(r, r.point() > limit)
	})
}

// readInForce yields the records that no later rewind undid. Damage is an
// error: a history with a hole in it would decide differently.
func readInForce(path string, yield func(Record) error) error {
	summary, err := readMarked(path, func(r Record, undone bool) error {
		if undone {
			return nil
		}
		return yield(r)
	})
	if err == nil && summary.Damaged > 0 {
		return &summary.First
	}
	return err
}

// ReadDecisions returns the decisions of the journal at path in their order,
// each with what was observed later, if anything was, and whether a resume
// undid it. A journal that does not exist yet has none.
func ReadDecisions(path string) ([]Decision, Summary, error) {
	var decisions []Decision
	place := map[uint64]int{}
	summary, err := readMarked(path, func(r Record, undone bool) error {
		if d := r.Decision; d != nil {
			d.Undone = undone
			place[d.ID] = len(decisions)
			decisions = append(decisions, *d)
		}
		if r.Outcome != nil && !undone {
			if i, known := place[r.Outcome.Decision]; known {
				decisions[i].Observed = r.Outcome
			}
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return decisions, summary, err
}

// Replay asks the policies again over the signals and points of a journal and
// returns what they decide; what was decided elsewhere it takes as recorded. A decision that differs from the recorded one is
// an error that names both.
func Replay(path string, policies []Policy) ([]Decision, error) {
	var recorded, derived []Decision
	loop := &Loop{journal: NewJournal(), policies: policies, history: newHistory()}
	loop.apply = func(d Decision) error { return nil }
	err := readInForce(path, func(r Record) error {
		switch {
		case r.Signal.Name != "":
			return loop.Observe(r.Signal)
		case r.Setting != nil:
			loop.history.settings[r.Setting.Subject] = r.Setting.Value
		case r.Mark != nil:
			again, err := loop.propose(r.Mark.Point, r.Mark.Time)
			derived = append(derived, again...)
			return err
		case r.Decision != nil && r.Decision.Elsewhere:
			loop.restore(r)
		case r.Decision != nil:
			recorded = append(recorded, *r.Decision)
		}
		return nil
	})
	if err != nil {
		return derived, err
	}
	return derived, compare(recorded, derived)
}

func compare(recorded, derived []Decision) error {
	for i := range max(len(recorded), len(derived)) {
		was, is := "nothing", "nothing"
		if i < len(recorded) {
			was = spell(recorded[i])
		}
		if i < len(derived) {
			is = spell(derived[i])
		}
		if was != is {
			return fmt.Errorf("decision %d: recorded was %s, the replay decides %s", i+1, was, is)
		}
	}
	return nil
}

// spell writes out what a replay must reproduce: all but the ID and what
// happened later.
func spell(d Decision) string {
	d.ID, d.Observed, d.Undone = 0, nil, false
	text, err := json.Marshal(d)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
