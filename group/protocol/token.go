package protocol

import (
	"fmt"
	"slices"
	"time"
)

// tally is how far the commit of a step is at one member. The tree is that of a heap: the members of
// ranks 2r+1 and 2r+2 are under the one of rank r.
type tally struct {
	own      *Vote
	children [2]*Token
}

// FactsError says that two members have reduced a step to different things.
type FactsError struct {
	Step         uint64
	Ours, Theirs Facts
	Member       string // whose subtree they are of
}

func (e *FactsError) Error() string {
	return fmt.Sprintf("step %d: %s has a mean over %d samples (finite: %t), this member one over %d (finite: %t)",
		e.Step, e.Member, e.Theirs.Weight, e.Theirs.Finite, e.Ours.Weight, e.Ours.Finite)
}

func (m *Machine) prepared(now time.Time, e Prepared) {
	if m.view.Epoch == 0 || m.ring.frozen || e.Epoch != m.view.Epoch || e.Step != m.committed+1 || m.tally.own != nil {
		return
	}
	e.Record.Leave, e.Record.Join = m.leave, slices.Clone(m.join[:min(len(m.join), maxJoin)])
	m.tally.own = &Vote{ID: m.cfg.Self.ID, Committed: m.committed, Prepared: true, Facts: e.Facts, Record: e.Record}
	m.rise(now)
}

func (m *Machine) token(now time.Time, from ID, t *Token) {
	child := m.view.Rank(from) - (2*m.rank + 1)
	if !m.compare(from, t.Epoch) || m.ring.frozen || t.Step != m.committed+1 || child < 0 || child > 1 {
		return
	}
	m.tally.children[child] = t
	m.rise(now)
}

// rise sends the token up once all under this member are prepared; at the root that is the commit.
func (m *Machine) rise(now time.Time) {
	own := m.tally.own
	if own == nil {
		return
	}
	records := []Entry{{own.ID, own.Record}}
	for i, t := range m.tally.children {
		child := 2*m.rank + 1 + i
		if child >= len(m.view.Members) {
			break
		}
		if t == nil {
			return
		}
		if t.Facts != own.Facts {
			m.end(Failed{&FactsError{m.committed + 1, own.Facts, t.Facts, m.view.Members[child].Name}})
			return
		}
		records = append(records, t.Records...)
	}
	if m.rank > 0 {
		m.send(m.view.Members[(m.rank-1)/2], &Token{Epoch: m.view.Epoch, Step: m.committed + 1, Facts: own.Facts, Records: records})
		return
	}
	m.view.inOrder(records)
	m.commit(now, &Result{Step: m.committed + 1, Epoch: m.view.Epoch, Facts: own.Facts, Records: records})
}

func (m *Machine) verdict(now time.Time, from ID, v *Verdict) {
	if !m.compare(from, v.Result.Epoch) || m.ring.frozen || v.Result.Step != m.committed+1 || m.tally.own == nil {
		return
	}
	if v.Result.Facts != m.tally.own.Facts {
		m.end(Failed{&FactsError{m.committed + 1, m.tally.own.Facts, v.Result.Facts, m.member(from).Name}})
		return
	}
	m.commit(now, v.Result)
}

// commit passes the verdict on and counts the step.
func (m *Machine) commit(now time.Time, r *Result) {
	for child := 2*m.rank + 1; child <= 2*m.rank+2 && child < len(m.view.Members); child++ {
		m.send(m.view.Members[child], &Verdict{Result: r})
	}
	m.count(r)
	m.base = nil // all have installed this view, or the step could not have been reduced
	m.plan(now)
}

func (m *Machine) count(r *Result) {
	m.committed, m.last, m.wishes = r.Step, r, r
	m.tally = tally{}
	m.act(Commit{r})
}

// plan begins the change that the records of the last step wish for, if this member is the first of
// those that stay.
func (m *Machine) plan(now time.Time) {
	leave, add := m.planned(m.ring.suspects)
	if len(leave) == 0 && len(add) == 0 {
		return
	}
	for r, member := range m.view.Members {
		if leave[member.ID] {
			continue
		}
		if r == m.rank {
			m.begin(now)
		}
		return
	}
	m.end(Fenced{Epoch: m.view.Epoch, Left: true}) // nobody stays
}

// planned returns the wishes of the last step that are not fulfilled yet, where some members are out.
// A joiner waits while a member that stays has its name. Nobody leaves while the state would go with
// it: one whose state is complete stays, or all leave.
func (m *Machine) planned(out map[ID]bool) (leave map[ID]bool, add []Member) {
	leave = map[ID]bool{}
	if m.wishes == nil {
		return leave, nil
	}
	leavers, join := m.wishes.wishes()
	for _, id := range leavers {
		if m.view.Has(id) {
			leave[id] = true
		}
	}
	if !m.keepsState(leave, out) {
		clear(leave)
	}
	ids, names := map[ID]bool{0: true}, map[string]bool{}
	for _, member := range m.view.Members {
		ids[member.ID] = true
		names[member.Name] = !leave[member.ID] && !out[member.ID]
	}
	for _, j := range join {
		if ids[j.ID] || names[j.Name] || j.long() || m.ring.suspects[j.ID] || len(m.view.Members)+len(add) >= MaxMembers {
			continue
		}
		ids[j.ID], names[j.Name] = true, true
		add = append(add, j)
	}
	return leave, add
}

// keepsState says whether the state survives when some members leave.
func (m *Machine) keepsState(leave, out map[ID]bool) bool {
	all := true
	for _, member := range m.view.Members {
		all = all && (leave[member.ID] || out[member.ID])
	}
	for _, e := range m.wishes.Records {
		if e.Record.Ready && !leave[e.ID] && !out[e.ID] && m.view.Has(e.ID) {
			return true
		}
	}
	return all
}
