package protocol

import (
	"fmt"
	"slices"
	"time"
)

// accept takes a change on its way round the ring.
func (m *Machine) accept(now time.Time, from ID, a *Accept) {
	if a.Chosen && a.Epoch+1 == m.view.Epoch && m.ring.past.Epoch == a.Epoch {
		m.passChange(a, m.ring.past) // installed already; others may not have
		return
	}
	if !m.compare(from, a.Epoch) || int(a.Ballot.Rank) >= len(m.view.Members) {
		return
	}
	if !a.Chosen {
		if a = m.acknowledge(a); a == nil {
			return
		}
		m.wait(now)
	}
	m.passChange(a, m.view)
	if a.Chosen {
		m.install(now, a.Change)
	}
}

// acknowledge accepts a change unless a higher ballot is promised. A change that more than half of the
// members have accepted is chosen: each later round finds it with one of its voters.
func (m *Machine) acknowledge(a *Accept) *Accept {
	if m.cfg.Authority != Majority || a.Ballot.less(m.ring.promised) || slices.Contains(a.Acks, m.cfg.Self.ID) {
		return nil
	}
	m.freeze()
	m.promise(a.Ballot)
	m.ring.accepted, m.ring.proposal = a.Ballot, a.Change
	acked := *a
	acked.Acks = append(slices.Clone(a.Acks), m.cfg.Self.ID)
	if 2*len(acked.Acks) > len(m.view.Members) {
		acked.Chosen, acked.Origin = true, m.cfg.Self.ID
	}
	return &acked
}

// passChange sends a change to the next member of the view that it ends. A chosen one goes once round
// from its origin, others up to their leader.
func (m *Machine) passChange(a *Accept, view View) {
	rank, end := view.Rank(m.cfg.Self.ID), int(a.Ballot.Rank)
	if a.Chosen {
		end = view.Rank(a.Origin)
	}
	if rank < 0 || end < 0 {
		return
	}
	out := set(a.Out)
	for k := (rank + 1) % len(view.Members); k != end; k = (k + 1) % len(view.Members) {
		if !out[view.Members[k].ID] {
			m.pass(view.Members[k], a, view)
			return
		}
	}
}

// installed takes a chosen change that this member has missed.
func (m *Machine) installed(now time.Time, msg *Installed) {
	switch {
	case m.view.Epoch > 0 && msg.Change.From == m.view.Epoch:
		m.install(now, msg.Change)
	case m.view.Epoch > 0 && msg.Change.From > m.view.Epoch: // one that stays is never left behind by two
		m.end(Fenced{Epoch: msg.Change.From + 1, Left: m.leave})
	case m.view.Epoch > 0:
	case msg.View != nil && msg.View.Has(m.cfg.Self.ID) && msg.View.check() == nil:
		m.view, m.rank, m.base = *msg.View, msg.View.Rank(m.cfg.Self.ID), msg.Change
		m.committed = msg.Change.Committed
		m.act(Install{View: m.view, Change: m.base, First: true})
		m.goOn(now)
	}
}

// install puts the view into force that follows from a chosen change.
func (m *Machine) install(now time.Time, c *Change) {
	m.freeze()
	if r, own := c.Result, m.tally.own; r != nil && r.Step == m.committed+1 && own != nil {
		if r.Facts != own.Facts {
			m.end(Failed{&FactsError{Step: r.Step, Ours: own.Facts, Theirs: r.Facts, Member: "the group"}})
			return
		}
		m.count(r)
	}
	next, past := m.view.Apply(c), m.view
	rank := next.Rank(m.cfg.Self.ID)
	if rank < 0 {
		m.end(Fenced{Epoch: next.Epoch, Left: m.leave})
		return
	}
	if err := next.check(); err != nil {
		m.end(Failed{fmt.Errorf("a change that leads to no view: %w", err)})
		return
	}
	if c.Committed != m.committed {
		m.end(Failed{fmt.Errorf("view %d begins after step %d, this member stands at step %d", next.Epoch, c.Committed, m.committed)})
		return
	}
	if c.Result == nil {
		m.wishes = nil // the leader of the change knew them
	}
	before := m.ring
	m.view, m.rank, m.base = next, rank, c
	m.tally = tally{}
	m.ring = ring{suspects: map[ID]bool{}, past: past, sent: before.sent}
	m.deadline = time.Time{}
	m.join = next.drop(past.drop(m.join)) // let in, or out again
	m.act(Install{View: next, Change: c})
	m.stall("")
	if stayed := len(next.Members) - len(c.Add); rank == stayed-1 {
		for _, j := range c.Add {
			m.send(j, &Installed{Change: c, View: m.viewFor(j.ID)})
		}
	}
	for _, member := range next.Members {
		if before.suspects[member.ID] {
			m.ring.suspects[member.ID] = true
		}
	}
	m.goOn(now)
}

// goOn begins with the next change if there is reason for one already.
func (m *Machine) goOn(now time.Time) {
	for r, member := range m.view.Members {
		if m.ring.suspects[member.ID] && !m.ring.frozen {
			m.expect(now, r)
		}
	}
	if !m.ring.frozen {
		m.plan(now)
	}
}
