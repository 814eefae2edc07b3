package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"millrace.dev/group/ledger"
	"millrace.dev/group/protocol"
)

// The state of a joiner comes from all members whose own is complete, a stripe from each:
//
//	joiner ── want ──▶ all        who has the state after the last committed step?
//	       ◀── have ── all
//	       ── take ──▶ the complete ones: stripe i of k
//	                   each announces it as soon as its trainer pauses
//	       ◀─ stripe ─ announcement: size, bounds, ledger
//	       ◀── part ── bytes, as they are while the trainer pauses, two parts on their way at a time;
//	                   what is left when the step is committed is copied, and follows while training goes on
//
// The members cannot commit the step after that before the joiner has prepared it, and it does not
// before all stripes are announced, thus promised: so all are of the same step, whatever views come
// meanwhile. If a source dies, another gives what is missing of its stripe; or, where its state is that
// of a later step already, the joiner asks anew, for the state of then.

// transfer is a joiner's side as the loop sees it. A member whose state is complete is restored, and seeks nothing.
type transfer struct {
	restored bool // the trainer has the state
	counting bool // the ledger is known since all stripes were announced once
	seeking  *seeking
}

func (t *transfer) clear() { *t = transfer{} }

// seeking is one attempt to get the state.
type seeking struct {
	step      uint64
	asked     uint64      // in which epoch, the last time
	answers   map[ID]bool // whether a member's state is complete
	in        *intake     // once stripes are asked for
	announced bool        // all stripes are, so the account is known
	since     time.Time   // they were, the first time
	arrived   bool
}

// Epoch is that of the question, in the answer too.
type wantMessage struct{ Step, Epoch uint64 }

type haveMessage struct {
	wantMessage
	Complete bool
}

type takeMessage struct {
	Step      uint64
	Index, Of int
	Skip      int64 // bytes at its beginning that have come from another
}

// announcement goes before the parts of a stripe.
type announcement struct {
	Index   int
	Size    int64 // of the whole state
	Lo, Hi  int64 // of what comes
	Ledger  []byte
	Sharers []uint64
}

const (
	partBytes = 512 << 10
	maxState  = 1 << 42
)

// errNoState ends a joiner in a group in which nobody is left that has the state.
var errNoState = errors.New("no member with the whole state is left")

// accounted says whether the ledger is known.
func (lp *loop) accounted() bool {
	return lp.restored || lp.counting
}

// seek asks for the state, or for what is missing of it once a view has changed.
func (lp *loop) seek() {
	view := lp.mesh.view
	s := lp.seeking
	if s != nil && s.in != nil && (s.arrived || s.in.lost(view) == nil) {
		return
	}
	if s == nil || s.step != lp.account.Step {
		s = &seeking{step: lp.account.Step, answers: map[ID]bool{}}
		lp.seeking = s
		lp.w.intake.Store(nil)
	}
	s.announced = false // until what is missing is promised again
	s.asked = view.Epoch
	for _, m := range view.Members {
		if !s.answers[m.ID] && m.ID != lp.self.ID {
			delete(s.answers, m.ID) // it may have become complete
			lp.tell(m, typeWant, wantMessage{s.step, s.asked})
		}
	}
	lp.choose()
}

// seekAt asks a member that could not be reached, once it can.
func (lp *loop) seekAt(m Member) {
	if s := lp.seeking; s != nil && lp.mesh.view.Has(m.ID) {
		if _, answered := s.answers[m.ID]; !answered {
			lp.tell(m, typeWant, wantMessage{s.step, s.asked})
		}
	}
}

// tell sends a message of the transfer.
func (lp *loop) tell(to Member, kind uint8, message any) {
	body, err := json.Marshal(message)
	if err != nil {
		lp.fail(err)
		return
	}
	lp.mesh.control(to, kind, body)
}

// wanted answers a joiner whether it can be served here.
func (lp *loop) wanted(from Member, m wantMessage) {
	lp.tell(from, typeHave, haveMessage{m, lp.restored && m.Step == lp.account.Step})
}

// have takes a member's answer.
func (lp *loop) have(from ID, m haveMessage) {
	s := lp.seeking
	if s == nil || m.Step != s.step || m.Epoch != s.asked {
		return
	}
	s.answers[from] = m.Complete
	lp.choose()
}

// choose asks for stripes once all members have answered: all of them, or those whose source is gone.
func (lp *loop) choose() {
	s, view := lp.seeking, lp.mesh.view
	if s.step != lp.account.Step {
		return // the members have gone on: the next view asks anew
	}
	var sources []Member
	for _, m := range view.Members {
		complete, answered := s.answers[m.ID]
		if complete {
			sources = append(sources, m)
		}
		if !answered && m.ID != lp.self.ID {
			return
		}
	}
	if len(sources) == 0 {
		lp.fail(errNoState)
		return
	}
	if s.in == nil {
		s.in = &intake{w: lp.w, step: s.step, incarnation: lp.incarnation, spans: make([]span, len(sources))}
		lp.w.intake.Store(s.in)
	}
	for _, i := range s.in.lost(view) {
		s.announced = false
		m := sources[i%len(sources)]
		lp.tell(m, typeTake, s.in.assign(i, m.ID, view.Epoch))
	}
}

// announced takes the account that comes with the state: all stripes are promised.
func (lp *loop) announced(in *intake, l ledger.Ledger, sharers []uint64) {
	s := lp.seeking
	if s == nil || s.in != in || s.announced || lp.account.Step != in.step || !in.promised() {
		return
	}
	s.announced, lp.counting = true, true
	if s.since.IsZero() {
		s.since = time.Now()
	}
	time.AfterFunc(grace, func() { lp.w.post((*loop).tryPrepare) })
	lp.account = account{Progress: Progress{in.step, l}, sharers: sharers}
	again := lp.nextStep()
	lp.w.desk.put(func(d *desk) {
		if d.turn != nil {
			d.turn = again
		}
	})
	lp.tryPrepare()
}

// arrived hands the whole state to the trainer.
func (lp *loop) arrived(in *intake) {
	s := lp.seeking
	if s == nil || s.in != in || s.arrived {
		return
	}
	s.arrived = true
	lp.w.desk.put(func(d *desk) { d.arrived = &arrival{in.incarnation, in.step} })
}

// arrival is a state that has come.
type arrival struct {
	incarnation int
	step        uint64
}

// restored makes the state the trainer's, on its goroutine.
func (w *Worker) restored(a *arrival) error {
	t := &w.trainer
	if a.incarnation != t.incarnation {
		return nil
	}
	if err := w.config.State.Restored(a.step); err != nil {
		return fmt.Errorf("the state after step %d is no good: %w", a.step, err)
	}
	t.complete, t.applied = true, a.step
	t.queue = slices.DeleteFunc(t.queue, func(q queued) bool { return q.result.Step <= a.step })
	w.post(func(lp *loop) { lp.complete(a.incarnation) })
	return nil
}

// complete hears that the trainer has the state.
func (lp *loop) complete(incarnation int) {
	if incarnation != lp.incarnation {
		return
	}
	lp.transfer.restored, lp.seeking = true, nil
	lp.handle(protocol.Restored{})
	lp.w.intake.Store(nil)
	lp.tryPrepare()
}

// grace is how long after that a joiner keeps steps from their commit, as its state may come at any moment:
// then it takes a share of the next one and need not keep the result.
const grace = 150 * time.Millisecond

// mayFollow says whether a joiner lets the group go on without its state: once all of it is promised, and its
// grace is over.
func (lp *loop) mayFollow() bool {
	s := lp.seeking
	return s != nil && s.announced && time.Since(s.since) >= grace
}
