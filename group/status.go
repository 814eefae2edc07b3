package group

import (
	"fmt"
	"strings"
	"time"

	"millrace.dev/fabric"
)

// LogStalled is the message of a worker's log when no view can follow for now; its attribute "reason" says
// why.
const LogStalled = "no view follows for now"

// Status is a worker's situation, for people.
type Status struct {
	Group     string   `json:"group"`
	Worker    string   `json:"worker"`
	Rank      int      `json:"rank"` // -1: not a member
	Epoch     uint64   `json:"epoch"`
	Members   []string `json:"members"`
	Step      uint64   `json:"step"`      // the last that was committed
	DataEpoch uint64   `json:"dataEpoch"` // epoch of the data
	Algorithm string   `json:"algorithm"` // how gradients are reduced, empty while that is being set up
	Doing     string   `json:"doing"`     // such as "computing step 17"
	Waiting   string   `json:"waiting"`   // for whom or what, and why; empty if for nothing
	Reason    string   `json:"reason"`    // of the last change of the members
	Trouble   string   `json:"trouble"`   // what failed last without ending anything
	Lives     int      `json:"lives"`     // incarnations: more than 1 after it was cut off
	Stale     uint64   `json:"stale"`     // frames of earlier views that came late and were dropped
	Refused   uint64   `json:"refused"`   // connections that were dropped as no valid stream, or as not allowed
	Sent      uint64   `json:"sent"`      // bytes, over all connections of the worker's life
	Received  uint64   `json:"received"`  // likewise
	Waited    float64  `json:"waited"`    // seconds for which the trainer waited for the commit of its steps
}

// situation is what a status is a function of.
type situation struct {
	Status
	now       time.Time
	err       error
	member    bool
	left      bool
	incoming  bool      // it wants into a group
	asked     string    // the address asked, empty: none now
	heardOf   bool      // a member has taken the wish in
	last      string    // why the last attempt to get in failed
	changes   bool      // the view is changing
	changing  string    // what the machine waits for
	unlinked  []string  // members without a connection
	attaching bool      // shared memory is being set up
	restoring bool      // the state is on its way
	copied    int64     // bytes of it
	size      int64     // of its bytes; 0: not known yet
	reported  bool      // the trainer has handed its part in
	reduced   bool      // the step is, here
	slow      string    // the member whose data is missing
	missing   string    // which
	heard     time.Time // the last sign of that member
	draining  bool      // a reduction that was cut off is not over
}

// status says in words what a worker does and what it waits for.
func (s situation) status() Status {
	out := s.Status
	next := s.Step + 1
	switch {
	case s.err != nil:
		out.Doing = fmt.Sprintf("nothing: %v", s.err)
		return out
	case !s.member && s.incoming && !s.left:
		out.Doing = "joining"
		out.Waiting = s.entry()
		return out
	case s.left:
		out.Doing = "nothing: it has left"
		return out
	case !s.member:
		out.Doing = "nothing: it is in no group"
		return out
	case s.restoring:
		out.Doing = fmt.Sprintf("following step %d without a share", next)
	case !s.reported:
		out.Doing = fmt.Sprintf("computing step %d", next)
	case !s.reduced:
		out.Doing = fmt.Sprintf("reducing step %d", next)
	default:
		out.Doing = fmt.Sprintf("committing step %d", next)
	}
	out.Waiting = s.waiting()
	return out
}

// entry is what a worker that wants in waits for.
func (s situation) entry() string {
	switch {
	case s.heardOf:
		return fmt.Sprintf("for the next step's commit, with which %s lets it in", s.asked)
	case s.asked != "" && s.last != "":
		return fmt.Sprintf("for an answer from %s; the one before said: %s", s.asked, s.last)
	case s.asked != "":
		return "for an answer from " + s.asked
	case s.last != "":
		return "to try again: " + s.last
	}
	return "for the trainer to begin"
}

// waiting is what a member waits for.
func (s situation) waiting() string {
	switch {
	case s.changes && s.changing != "":
		return "for " + s.changing
	case len(s.unlinked) > 0:
		return "for a connection to " + strings.Join(s.unlinked, ", ")
	case s.attaching:
		return "for the members to show each other their memory"
	case s.restoring && s.size == 0:
		return "for the members to copy their state at the end of the step"
	case s.restoring:
		return fmt.Sprintf("for the state: %.0f of %.0f MB are here", float64(s.copied)/1e6, float64(s.size)/1e6)
	case s.reported && !s.reduced && s.slow != "":
		return fmt.Sprintf("for %s: %s; it was heard %.1f s ago", s.slow, s.missing, s.now.Sub(s.heard).Seconds())
	case s.reported && !s.reduced && s.missing != "":
		return "for " + s.missing
	case s.draining:
		return "for what is left of the reduction in the view before"
	}
	if s.changing != "" {
		return "for " + s.changing
	}
	return ""
}

// Status says what the worker does and whom it waits for.
func (w *Worker) Status() Status {
	answer := make(chan Status, 1)
	w.post(func(lp *loop) { answer <- lp.situation().status() })
	select {
	case s := <-answer:
		return s
	case <-w.ended:
		return *w.status.Load()
	}
}

// situation gathers what a status needs.
func (lp *loop) situation() situation {
	m := &lp.mesh
	s := situation{
		Status: Status{
			Group: lp.config.Group, Worker: lp.self.Name, Rank: m.view.Rank(lp.self.ID), Epoch: m.view.Epoch,
			Step: lp.account.Step, DataEpoch: lp.account.Ledger.Epoch, Reason: lp.reason, Trouble: lp.trouble,
			Lives: lp.incarnation, Stale: lp.w.stale.Load(), Refused: refused(lp.config.Network),
			Waited: time.Duration(lp.w.waited.Load()).Seconds(),
		},
		now: time.Now(), err: lp.err, member: lp.machine != nil && m.view.Epoch > 0, left: lp.left, draining: lp.draining != nil,
		incoming: lp.machine == nil || m.view.Epoch == 0, asked: lp.joining.asked(), heardOf: lp.joining.waiting, last: lp.joining.last,
		restoring: !lp.restored, reported: lp.current.reported, reduced: lp.current.reduced != nil,
	}
	s.Sent, s.Received = m.moved()
	for _, member := range m.view.Members {
		s.Members = append(s.Members, member.Name)
		if l := m.best(member.ID); member.ID != lp.self.ID && !m.suspected[member.ID] && (l == nil || l.peer.Load() == nil) {
			s.unlinked = append(s.unlinked, member.Name)
		}
	}
	if lp.machine != nil {
		s.changing = lp.machine.Waiting()
	}
	s.attaching = lp.forming != nil && lp.forming.cancel != nil
	if lp.seeking != nil && lp.seeking.in != nil {
		s.size, s.copied = lp.seeking.in.progress()
	}
	p := lp.w.plane.Load()
	s.changes = p != nil && p.canceled && lp.forming == nil
	if p != nil && !p.canceled {
		s.Algorithm = p.reducer.Algorithm().String()
		rank, what := p.reducer.Waiting()
		s.missing = what
		if rank >= 0 && rank < len(m.view.Members) {
			s.slow = m.view.Members[rank].Name
			s.heard = m.heard(m.view.Members[rank].ID)
		}
	}
	return s
}

// refused is how many connections a network has refused, if it counts them.
func refused(n fabric.Network) uint64 {
	if n, ok := n.(interface{ Refused() uint64 }); ok {
		return n.Refused()
	}
	return 0
}

// publish keeps the last status for those who ask after the end.
func (lp *loop) publish() {
	s := lp.situation().status()
	lp.w.status.Store(&s)
}
