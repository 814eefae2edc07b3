package protocol

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// stage is how far the round is that this member leads.
type stage uint8

const (
	idle       stage = iota // it leads none
	collecting              // votes
	asking                  // the authority
	accepting               // acceptances
)

// ring is the change of one view at one member.
type ring struct {
	frozen   bool        // it has voted
	suspects map[ID]bool // whom it cannot reach itself
	attempt  uint32      // the highest seen
	promised Ballot      // no lower ballot counts any more
	stage    stage
	proposal *Change // accepted in ballot accepted (Majority), or asked for (Service)
	accepted Ballot
	sent     passed
	past     View      // the one before
	forlorn  time.Time // nobody with the state could be reached since, zero: somebody can be
}

// passed is the last message that was passed on round the ring. It is passed on again, past the one
// that took it, if that one dies with it.
type passed struct {
	message Message
	to      ID
	view    View
}

// suspect takes the news that a peer is gone, and what it was sent last may be lost.
func (m *Machine) suspect(now time.Time, id ID) {
	m.join = slices.DeleteFunc(m.join, func(j Member) bool { return j.ID == id })
	if id == m.cfg.Self.ID || m.view.Epoch == 0 {
		return
	}
	r := m.view.Rank(id)
	if r >= 0 {
		m.ring.suspects[id] = true
	}
	m.passAgain(now, id)
	if r >= 0 && !m.ended && (!m.ring.frozen || r == int(m.ring.promised.Rank)) {
		m.expect(now, r)
	}
}

// expect waits for the change that the failure of a member calls for. Its nearest live predecessor
// begins at once; each other gives time to those between them.
func (m *Machine) expect(now time.Time, rank int) {
	if rank == m.rank {
		return
	}
	if n := m.view.between(m.rank, rank, m.ring.suspects); n > 0 {
		m.hasten(now, time.Duration(min(n, staggers))*stagger)
	} else {
		m.begin(now)
	}
}

// freeze ends the part of this member in the epoch.
func (m *Machine) freeze() {
	if !m.ring.frozen {
		m.ring.frozen = true
		m.act(Cancel{Epoch: m.view.Epoch})
	}
}

// promise gives all lower ballots up.
func (m *Machine) promise(b Ballot) {
	if b != m.ring.promised {
		m.ring.promised, m.ring.stage = b, idle
	}
	m.ring.attempt = max(m.ring.attempt, b.Attempt)
}

// begin starts a round.
func (m *Machine) begin(now time.Time) {
	m.freeze()
	m.promise(Ballot{Attempt: m.ring.attempt + 1, Rank: uint32(m.rank)})
	m.ring.stage = collecting
	m.arm(now, m.patience())
	m.passVotes(now, m.vote(&Reconcile{Epoch: m.view.Epoch, Ballot: m.ring.promised, Base: m.base}))
}

// patience is how long a round may take.
func (m *Machine) patience() time.Duration {
	d := lap + time.Duration(len(m.view.Members))*hop
	return d << min(m.ring.promised.Attempt-1, doublings)
}

// reconcile takes a round's message.
func (m *Machine) reconcile(now time.Time, from ID, r *Reconcile) {
	if r.Base != nil && r.Epoch == r.Base.From+1 { // this member may have missed how the epoch began
		m.installed(now, &Installed{Change: r.Base, View: r.View})
	}
	if m.ended || !m.compare(from, r.Epoch) || int(r.Ballot.Rank) >= len(m.view.Members) {
		return
	}
	m.ring.attempt = max(m.ring.attempt, r.Ballot.Attempt)
	leader := m.view.Members[r.Ballot.Rank].ID
	switch {
	case r.Ballot.less(m.ring.promised):
	case leader == m.cfg.Self.ID:
		if m.ring.stage == collecting {
			m.complete(now, r)
		}
	default:
		m.freeze()
		m.promise(r.Ballot)
		m.wait(now)
		m.passVotes(now, m.vote(r))
	}
}

// wait gives the leader of a round the time that it takes, and more, before this member begins one.
func (m *Machine) wait(now time.Time) {
	if int(m.ring.promised.Rank) == m.rank {
		m.arm(now, m.patience())
		return
	}
	n := m.view.between(m.rank, int(m.ring.promised.Rank), m.ring.suspects)
	m.arm(now, m.patience()*3/2+time.Duration(min(n, staggers))*stagger)
}

// vote returns a round's message with what this member has to say.
func (m *Machine) vote(r *Reconcile) *Reconcile {
	voted := *r
	vote := Vote{ID: m.cfg.Self.ID, Committed: m.committed}
	if m.tally.own != nil {
		vote = *m.tally.own
	}
	vote.Ready = m.ready
	voted.Votes = append(slices.DeleteFunc(slices.Clone(r.Votes), func(v Vote) bool { return v.ID == vote.ID }), vote)
	voted.Out = m.without(r.Out)
	if m.last != nil && m.last.Epoch == m.view.Epoch && (r.Last == nil || r.Last.Step < m.last.Step) {
		voted.Last = m.last
	}
	if m.cfg.Authority == Majority && m.ring.proposal != nil && (r.Proposal == nil || r.Accepted.less(m.ring.accepted)) {
		voted.Accepted, voted.Proposal = m.ring.accepted, m.ring.proposal
	}
	return &voted
}

// without returns who is passed by, those whom this member cannot reach among them.
func (m *Machine) without(out []ID) []ID {
	out = slices.Clone(out)
	for _, member := range m.view.Members {
		if m.ring.suspects[member.ID] && !slices.Contains(out, member.ID) {
			out = append(out, member.ID)
		}
	}
	return out
}

// passVotes sends a round's message to the next member that is not passed by; back at its leader it
// is complete. If the last one cannot reach the leader, the round is void.
func (m *Machine) passVotes(now time.Time, r *Reconcile) {
	out, leader := set(r.Out), int(r.Ballot.Rank)
	for k := (m.rank + 1) % len(m.view.Members); ; k = (k + 1) % len(m.view.Members) {
		next := m.view.Members[k]
		switch {
		case k == leader && k == m.rank:
			m.complete(now, r)
			return
		case k == leader && out[next.ID]:
			m.expect(now, k)
			return
		case k == leader || !out[next.ID]:
			passed := *r
			passed.View = m.viewFor(next.ID)
			m.pass(next, &passed, m.view)
			return
		}
	}
}

func (m *Machine) pass(to Member, msg Message, view View) {
	m.ring.sent = passed{msg, to.ID, view}
	m.send(to, msg)
}

// passAgain passes the last message on past a member that may have died with it, if it still counts.
func (m *Machine) passAgain(now time.Time, id ID) {
	sent := m.ring.sent
	if sent.to != id {
		return
	}
	m.ring.sent = passed{}
	switch msg := sent.message.(type) {
	case *Reconcile:
		if msg.Epoch == m.view.Epoch && msg.Ballot == m.ring.promised {
			again := *msg
			again.Out = append(slices.Clone(msg.Out), id)
			m.passVotes(now, &again)
		}
	case *Accept:
		if msg.Chosen || msg.Epoch == m.view.Epoch && msg.Ballot == m.ring.promised {
			again := *msg
			again.Out = append(slices.Clone(msg.Out), id)
			m.passChange(&again, sent.view)
		}
	}
}

// complete is the end of a round at its leader: everybody who can be reached has voted.
func (m *Machine) complete(now time.Time, r *Reconcile) {
	out := m.without(r.Out)
	if m.cfg.Authority == Majority {
		reached := 0
		for _, v := range r.Votes {
			if !slices.Contains(out, v.ID) {
				reached++
			}
		}
		if n := len(m.view.Members); 2*reached <= n {
			m.stall(fmt.Sprintf("view %d cannot change: %d of its %d members can be reached, more than half are needed; waiting for %s",
				m.view.Epoch, reached, n, m.names(out)))
			return // until the deadline
		}
	}
	change := r.Proposal
	if change == nil {
		if m.stateless(now, r, set(out)) {
			return // until the deadline
		}
		change = m.propose(r, set(out))
	}
	if change == nil {
		m.end(Fenced{Epoch: m.view.Epoch, Left: m.leave})
		return
	}
	if m.cfg.Authority == Service {
		m.ring.proposal = change
		m.ask(now)
		return
	}
	m.ring.stage = accepting
	m.arm(now, m.patience())
	m.accept(now, m.cfg.Self.ID, &Accept{Epoch: m.view.Epoch, Ballot: r.Ballot, Change: change, Out: out})
}

// stateless says whether a round has reached nobody whose state is complete. Those that have it may live, and be
// reached again or go on without these: a view without them would take the group away from them. Who waits in vain begins anew.
func (m *Machine) stateless(now time.Time, r *Reconcile, out map[ID]bool) bool {
	if slices.ContainsFunc(r.Votes, func(v Vote) bool { return v.Ready && !out[v.ID] }) {
		m.ring.forlorn = time.Time{}
		return false
	}
	if m.ring.forlorn.IsZero() {
		m.ring.forlorn = now
	}
	if now.Sub(m.ring.forlorn) < forlorn {
		m.stall(fmt.Sprintf("view %d cannot change: none of the members that can be reached has the state; waiting for %s",
			m.view.Epoch, m.names(m.without(r.Out))))
	} else {
		m.end(Fenced{Epoch: m.view.Epoch, Left: m.leave})
	}
	return true
}

func (m *Machine) names(ids []ID) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, m.member(id).Name)
	}
	return strings.Join(names, ", ")
}

// ask asks the authority.
func (m *Machine) ask(now time.Time) {
	m.ring.stage = asking
	m.arm(now, m.patience())
	m.act(Ask{Epoch: m.view.Epoch, Change: m.ring.proposal, View: m.view.Apply(m.ring.proposal)})
}

// answer takes what the authority has decided.
func (m *Machine) answer(now time.Time, a Answer) {
	if a.Epoch != m.view.Epoch || m.cfg.Authority != Service {
		return
	}
	switch {
	case a.Err != nil:
		if m.ring.stage == asking {
			m.stall(fmt.Sprintf("view %d cannot change: the membership service does not answer: %v", m.view.Epoch, a.Err))
		}
	case a.Change == nil || a.Change.From < m.view.Epoch:
		m.stall(fmt.Sprintf("view %d cannot change: the membership service knows only earlier ones", m.view.Epoch))
	case a.Change.From > m.view.Epoch: // one that stays is never left behind by two
		m.end(Fenced{Epoch: a.Change.From + 1, Left: m.leave})
	default:
		m.accept(now, m.cfg.Self.ID, &Accept{Epoch: m.view.Epoch, Ballot: m.ring.promised, Change: a.Change,
			Out: m.without(nil), Chosen: true, Origin: m.cfg.Self.ID})
	}
}
