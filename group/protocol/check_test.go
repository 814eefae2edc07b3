package protocol

import (
	"fmt"
	"reflect"
	"slices"

	"millrace.dev/group/ledger"
)

// checker sees all that the workers of a job do, and trains beside them: one view for each epoch, one
// result for each step, parameters as a serial run has them, each sample once.
type checker struct {
	job     *job
	err     error
	views   map[uint64]View
	steps   map[uint64]*counted
	theta   model // after the last step
	ledger  ledger.Ledger
	last    uint64
	used    map[uint64]int // uses of positions in the epoch under way
	stats   stats
	records map[uint64]map[ID]Record
}

// stats count what happened, to show that schedules have all of it in them.
type stats struct {
	Views, Commits, Skips int
	ByChange              int // commits of a worker by a change
	Retries               int // steps of a worker that were reduced again
	Fenced, Stalled, Late int // Late: answers of the authority after their time
	Joined, Left          int
	Adopted               int // rounds that found an accepted change
	Rounds                int // the highest attempt
	Behind                int // members that were told of a change they had missed
	Zombie                int // commits of a worker that the newest view is without
	Over                  int // schedules that could not go on
}

func (s *stats) add(o stats) {
	a, b := reflect.ValueOf(s).Elem(), reflect.ValueOf(o)
	for i := range a.NumField() {
		a.Field(i).SetInt(a.Field(i).Int() + b.Field(i).Int())
	}
}

// message counts.
func (c *checker) message(w *worker, msg Message) {
	switch m := msg.(type) {
	case *Reconcile:
		c.stats.Rounds = max(c.stats.Rounds, int(m.Ballot.Attempt))
		if m.Proposal != nil {
			c.stats.Adopted++
		}
	case *Installed:
		if w.m.View().Epoch > 0 {
			c.stats.Behind++
		}
	}
}

// counted is what is known of a committed step.
type counted struct {
	epoch  uint64
	facts  Facts
	from   []ID
	theta  model
	ledger ledger.Ledger
}

func newChecker(j *job) *checker {
	return &checker{job: j, views: map[uint64]View{}, steps: map[uint64]*counted{}, used: map[uint64]int{}, records: map[uint64]map[ID]Record{}}
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
		c.job.log("CHECK", "%v", c.err)
	}
}

func (c *checker) view(w *worker, v View) {
	if known, there := c.views[v.Epoch]; !there {
		c.views[v.Epoch] = v
		c.stats.Views++
	} else if !reflect.DeepEqual(known, v) {
		c.fail("epoch %d is %s, and %s for %s", v.Epoch, names(nil).members(known.Members), names(nil).members(v.Members), w.name())
	}
}

// result looks at a step that a worker counts, whether it has the state or not.
func (c *checker) result(w *worker, commit Commit) {
	from := w.step.mean[0].from
	if weight := w.step.mean[0].weight; weight != commit.Facts.Weight {
		c.fail("%s commits step %d with weight %d, its mean is over %d", w.name(), commit.Step, commit.Facts.Weight, weight)
	}
	if (commit.Outcome() == Apply) != (commit.Facts.Finite && commit.Facts.Weight > 0) {
		c.fail("step %d: outcome %v", commit.Step, commit.Outcome())
	}
	if d := commit.Diverged(); d != nil {
		c.fail("step %d: members %v have diverged", commit.Step, d)
	}
	if commit.Facts.Finite && commit.Culprits() != nil {
		c.fail("step %d is finite, and not that of %v", commit.Step, commit.Culprits())
	}
	if v := c.job.newest(); !v.Has(w.self.ID) {
		c.stats.Zombie++
	}
	known := c.steps[commit.Step]
	if known == nil {
		known = &counted{epoch: commit.Epoch, facts: commit.Facts, from: from}
		c.steps[commit.Step] = known
		c.stats.Commits++
		c.records[commit.Step] = map[ID]Record{}
	}
	if known.epoch != commit.Epoch || known.facts != commit.Facts || !slices.Equal(known.from, from) {
		c.fail("step %d is of epoch %d, %v, from %v; for %s of epoch %d, %v, from %v",
			commit.Step, known.epoch, known.facts, known.from, w.name(), commit.Epoch, commit.Facts, from)
	}
	for _, e := range commit.Records {
		r, there := c.records[commit.Step][e.ID]
		if e.Record.Join = nil; there && !reflect.DeepEqual(r, e.Record) {
			c.fail("step %d: %s has another record of %d", commit.Step, w.name(), e.ID)
		}
		c.records[commit.Step][e.ID] = e.Record
	}
}

// applied looks at the parameters and samples after a step.
func (c *checker) applied(w *worker, a applied, before ledger.Ledger, shares []ledger.Share) {
	known := c.steps[a.result.Step]
	if a.result.Step == c.last+1 {
		c.serial(w, known, before, shares)
	}
	if w.theta != known.theta {
		c.fail("%s has other parameters after step %d", w.name(), a.result.Step)
	}
	if !reflect.DeepEqual(w.ledger, known.ledger) {
		c.fail("%s has the ledger %v after step %d, another has %v", w.name(), w.ledger, a.result.Step, known.ledger)
	}
}

// serial does the step once more, alone.
func (c *checker) serial(w *worker, step *counted, before ledger.Ledger, shares []ledger.Share) {
	c.last++
	if !reflect.DeepEqual(before, c.ledger) {
		c.fail("%s begins step %d with the ledger %v, not %v", w.name(), c.last, before, c.ledger)
	}
	var sum model
	weight, finite := uint64(0), true
	contributes := func(id uint64) bool { return slices.Contains(step.from, ID(id)) }
	for _, s := range shares {
		if !contributes(s.Member) {
			continue
		}
		g, ok := gradient(c.ledger.Epoch, s.Ranges, c.theta)
		for k := range sum {
			sum[k] += g[k]
		}
		weight, finite = weight+s.Len(), finite && ok
		for _, r := range s.Ranges {
			for p := r.Lo; p < r.Hi; p++ {
				if c.used[p]++; c.used[p] > 1 {
					c.fail("step %d uses sample %d of epoch %d again", c.last, p, c.ledger.Epoch)
				}
			}
		}
	}
	if step.facts != (Facts{weight, finite}) {
		c.fail("step %d has %v, a serial run has %v", c.last, step.facts, Facts{weight, finite})
		return
	}
	if !finite {
		c.stats.Skips++
	} else if weight > 0 {
		for k := range sum {
			c.theta[k] = update(c.theta[k], sum[k], weight)
		}
	}
	after := c.ledger.Commit(c.job.samples, shares, contributes)
	if after.Epoch > c.ledger.Epoch {
		if len(c.used) != int(c.job.samples) {
			c.fail("epoch %d ends after %d of its %d samples", c.ledger.Epoch, len(c.used), c.job.samples)
		}
		clear(c.used)
	}
	c.ledger = after
	step.theta, step.ledger = c.theta, after
}
