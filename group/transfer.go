package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/ledger"
)

// The state of a joiner comes from all members whose own is complete, a stripe from each:
//
//	joiner ── want ──▶ all        who has the state after the last committed step?
//	       ◀── have ── all
//	       ── take ──▶ the complete ones: stripe i of k
//	                   each copies it as soon as its trainer pauses, and goes on
//	       ◀─ stripe ─ announcement: size, bounds, ledger
//	       ◀── part ── bytes, two parts on their way at a time
//
// The members cannot commit the step after that before the joiner has prepared it, and it does not
// before all stripes are announced, thus copied: so all are of the same step. If a source dies the
// joiner asks anew, for the state of then.

// transfer is a joiner's side as the loop sees it; the zero value of a member whose state is complete.
type transfer struct {
	restored bool // the trainer has the state
	seeking  *seeking
}

func (t *transfer) clear() { *t = transfer{} }

// seeking is one attempt to get the state.
type seeking struct {
	epoch, step uint64
	answers     map[ID]bool // whether a member's state is complete
	in          *intake     // once stripes are asked for
	announced   bool        // all stripes are, so the account is known
	arrived     bool
}

type wantMessage struct{ Step uint64 }

type haveMessage struct {
	Step     uint64
	Complete bool
}

type takeMessage struct {
	Step      uint64
	Index, Of int
}

// announcement goes before the parts of a stripe.
type announcement struct {
	Step    uint64
	Size    int64 // of the whole state
	Lo, Hi  int64 // of the stripe
	Ledger  []byte
	Sharers []uint64
}

// stripe is a part of the state that a member copies and sends.
type stripe struct {
	to        *link
	epoch     uint64
	step      uint64
	index, of int
	size, lo  int64
	body      []byte
}

const (
	partBytes   = 512 << 10
	maxState    = 1 << 42
	partsFlying = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errNoState ends a joiner in a group in which nobody is left that has the state.
var errNoState = errors.New("no member with the whole state is left")

// accounted says whether the ledger is known.
func (lp *loop) accounted() bool {
	return lp.restored || lp.seeking != nil && lp.seeking.announced
}

// seek asks for the state, unless what was asked for is on its way from members that are still here.
func (lp *loop) seek() {
	view := lp.mesh.view
	if s := lp.seeking; s != nil && (s.arrived || s.announced && s.in.from(view)) {
		return
	}
	lp.seeking = &seeking{epoch: view.Epoch, step: lp.account.Step, answers: map[ID]bool{}}
	lp.w.intake.Store(nil)
	for _, m := range view.Members {
		if m.ID != lp.self.ID {
			lp.tell(m, typeWant, wantMessage{lp.account.Step})
		}
	}
	lp.choose()
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
	lp.tell(from, typeHave, haveMessage{m.Step, lp.restored && m.Step == lp.account.Step})
}

// have takes a member's answer.
func (lp *loop) have(from ID, epoch uint64, m haveMessage) {
	s := lp.seeking
	if s == nil || s.in != nil || epoch != s.epoch || m.Step != s.step {
		return
	}
	s.answers[from] = m.Complete
	lp.choose()
}

// choose asks for stripes once all members have answered.
func (lp *loop) choose() {
	s, view := lp.seeking, lp.mesh.view
	if len(s.answers) < len(view.Members)-1 {
		return
	}
	var sources []Member
	for _, m := range view.Members {
		if s.answers[m.ID] {
			sources = append(sources, m)
		}
	}
	if len(sources) == 0 {
		lp.fail(errNoState)
		return
	}
	s.in = &intake{w: lp.w, epoch: s.epoch, step: s.step, incarnation: lp.incarnation, spans: map[ID]*span{}, sources: sources}
	lp.w.intake.Store(s.in)
	for i, m := range sources {
		lp.tell(m, typeTake, takeMessage{s.step, i, len(sources)})
	}
}

// take has the trainer copy a stripe for a joiner.
func (lp *loop) take(l *link, epoch uint64, m takeMessage) {
	if lp.config.State == nil || !lp.restored || m.Step != lp.account.Step || m.Index < 0 || m.Of < 1 || m.Index >= m.Of || m.Of > len(lp.mesh.view.Members) {
		return
	}
	lp.w.desk.put(func(d *desk) {
		d.stripes = append(d.stripes, &stripe{to: l, epoch: epoch, step: m.Step, index: m.Index, of: m.Of})
	})
}

// stripesDue says whether the state is that of a stripe which is asked for. The desk is locked.
func (w *Worker) stripesDue() bool {
	return slices.ContainsFunc(w.desk.stripes, func(s *stripe) bool { return w.trainer.complete && s.step <= w.trainer.applied })
}

// takeStripes takes them off the desk, which is locked.
func (w *Worker) takeStripes() (due []*stripe) {
	d := w.desk
	d.stripes = slices.DeleteFunc(d.stripes, func(s *stripe) bool {
		now := s.step <= w.trainer.applied
		if now {
			due = append(due, s)
		}
		return now
	})
	return due
}

// copyStripes copies parts of the trainer's state, on its goroutine.
func (w *Worker) copyStripes(due []*stripe) error {
	for _, s := range due {
		if s.step != w.trainer.applied {
			continue // of a joiner that is gone
		}
		s.size = w.config.State.Size()
		s.lo = s.size * int64(s.index) / int64(s.of)
		s.body = make([]byte, s.size*int64(s.index+1)/int64(s.of)-s.lo)
		if err := w.config.State.ReadAt(s.body, s.lo); err != nil {
			return fmt.Errorf("the state cannot be read for a joiner: %w", err)
		}
		w.post(func(lp *loop) { lp.ship(s) })
	}
	return nil
}

// ship sends a stripe.
func (lp *loop) ship(s *stripe) {
	if s.epoch != lp.mesh.view.Epoch || s.step != lp.account.Step {
		return
	}
	body, err := json.Marshal(announcement{
		Step: s.step, Size: s.size, Lo: s.lo, Hi: s.lo + int64(len(s.body)),
		Ledger: lp.account.Ledger.Append(nil), Sharers: lp.account.sharers,
	})
	if err != nil {
		lp.fail(err)
		return
	}
	s.to.conn.Send(fabric.Control, fabric.Header{Type: typeStripe, Epoch: s.epoch, Step: s.step}, body, nil)
	out := &shipment{stripe: s}
	for range partsFlying {
		out.next(nil)
	}
}

// shipment is a stripe on its way.
type shipment struct {
	*stripe
	mu   sync.Mutex
	sent int
}

// next sends the next part, when one before it has left or could not.
func (s *shipment) next(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.sent == len(s.body) {
		return
	}
	part := s.body[s.sent:min(s.sent+partBytes, len(s.body))]
	h := fabric.Header{
		Type: typePart, Epoch: s.epoch, Step: s.step, Aux: uint64(s.lo) + uint64(s.sent),
		Bucket: crc32.Checksum(part, castagnoli),
	}
	s.sent += len(part)
	s.to.conn.Send(fabric.Bulk, h, part, s.next)
}

// announced takes the account that comes with the state: all stripes are copied.
func (lp *loop) announced(in *intake, l ledger.Ledger, sharers []uint64) {
	s := lp.seeking
	if s == nil || s.in != in || s.announced || lp.account.Step != in.step {
		return
	}
	s.announced = true
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
	lp.w.intake.Store(nil)
	lp.tryPrepare()
}

// mayFollow says whether a joiner lets the group go on without its state: once all of it is copied,
// and a little later, as it may come at any moment.
func (lp *loop) mayFollow(since time.Time) bool {
	return lp.seeking != nil && lp.seeking.announced && time.Since(since) >= grace
}
