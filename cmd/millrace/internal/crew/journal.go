package crew

import (
	"cmp"
	"fmt"
	"slices"

	"millrace.dev/control"
	"millrace.dev/internal/rundir"
)

// Decisions are those of a run, whoever trained it: each once, however many workers wrote it down, in
// their order. The summary is of the first journal that is damaged.
func Decisions(dir rundir.Dir) ([]control.Decision, control.Summary, error) {
	alone, summary, err := control.ReadDecisions(dir.Events())
	if err != nil {
		return nil, summary, err
	}
	list, err := sessions(dir)
	if err != nil || len(list) == 0 {
		return alone, summary, err
	}
	var all chapters
	all.add(alone)
	for i := range list {
		s := &list[i]
		all.undo(s.From)
		for _, path := range s.journals() {
			found, read, err := control.ReadDecisions(path)
			if err != nil {
				return nil, read, err
			}
			if summary.Damaged == 0 {
				summary = read
			}
			all.add(found)
		}
	}
	return all.inOrder(), summary, nil
}

// chapters puts the decisions of several journals together.
type chapters struct {
	decisions []control.Decision
	at        map[string]int // by what makes two the same
}

// add takes those of a journal. Which of two that are the same was observed longer counts.
func (c *chapters) add(decisions []control.Decision) {
	if c.at == nil {
		c.at = map[string]int{}
	}
	for _, d := range decisions {
		key := fmt.Sprint(d.Policy, "\x00", d.Subject, "\x00", d.Point, "\x00", d.New)
		i, known := c.at[key]
		switch {
		case !known:
			c.at[key] = len(c.decisions)
			c.decisions = append(c.decisions, d)
		case c.decisions[i].Undone || longer(d.Observed, c.decisions[i].Observed):
			c.decisions[i] = d
		}
	}
}

func longer(a, b *control.Outcome) bool {
	return a != nil && (b == nil || a.Samples > b.Samples)
}

// undo marks what was decided after a step from which a later session went on.
func (c *chapters) undo(step int) {
	for i := range c.decisions {
		if d := &c.decisions[i]; d.Point > uint64(step) {
			d.Undone = true
		}
	}
}

// inOrder numbers the decisions by the time of the run.
func (c *chapters) inOrder() []control.Decision {
	slices.SortStableFunc(c.decisions, func(a, b control.Decision) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), a.Time.Compare(b.Time))
	})
	for i := range c.decisions {
		c.decisions[i].ID = uint64(i + 1)
	}
	return c.decisions
}
