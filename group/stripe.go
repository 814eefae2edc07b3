package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"millrace.dev/fabric"
	"millrace.dev/group/protocol"
)

// partsFlying is how many parts of a stripe are on their way at a time.
const partsFlying = 2

// stripe is a part of the state that a member gives to a joiner. It is read on the trainer's goroutine: part by
// part while that waits for a turn or a verdict, and the rest at once when the verdict is there, as the state is about
// to change.
type stripe struct {
	to     *link
	joiner ID
	asked  uint64 // in which epoch
	takeMessage
	announcement
	announced bool
	at        int64       // what is before it has been read
	spare     chan []byte // for parts: nil at first, then what has been sent
}

// take has the trainer give a stripe to a joiner.
func (lp *loop) take(l *link, asked uint64, m takeMessage) {
	if lp.config.State == nil || !lp.restored || m.Step != lp.account.Step || m.Index < 0 || m.Of < 1 || m.Index >= m.Of || m.Of > protocol.MaxMembers {
		return
	}
	s := &stripe{to: l, joiner: l.to, asked: asked, takeMessage: m, spare: make(chan []byte, partsFlying)}
	s.announcement = announcement{Index: m.Index, Ledger: lp.account.Ledger.Append(nil), Sharers: lp.account.sharers}
	for range partsFlying {
		s.spare <- nil
	}
	lp.w.desk.put(func(d *desk) {
		d.stripes = slices.DeleteFunc(d.stripes, func(old *stripe) bool { return old.joiner == s.joiner && old.takeMessage.Index == m.Index })
		d.stripes = append(d.stripes, s)
	})
}

// forget drops the stripes of joiners that are gone.
func (lp *loop) forget(view View) {
	lp.w.desk.put(func(d *desk) {
		d.stripes = slices.DeleteFunc(d.stripes, func(s *stripe) bool { return !view.Has(s.joiner) })
	})
}

// stripeDue is a stripe that is asked for of the state as it is, and of which a part can be sent now; nil for
// none. The desk is locked.
func (w *Worker) stripeDue() *stripe {
	d, t := w.desk, &w.trainer
	if !t.complete {
		return nil
	}
	d.stripes = slices.DeleteFunc(d.stripes, func(s *stripe) bool { return s.Step < t.applied }) // of a joiner that is gone
	for _, s := range d.stripes {
		if s.Step == t.applied && len(s.spare) > 0 {
			return s
		}
	}
	return nil
}

// give sends the next part of a stripe.
func (w *Worker) give(s *stripe) error {
	if err := s.announce(w.config.State); err != nil {
		return err
	}
	if s.at < s.Hi {
		buffer := <-s.spare
		if buffer == nil {
			buffer = make([]byte, min(partBytes, s.Hi-s.Lo))
		}
		part := buffer[:min(int64(len(buffer)), s.Hi-s.at)]
		if err := s.read(w.config.State, part); err != nil {
			return err
		}
		s.send(part, s.at-int64(len(part)), func(err error) {
			if err == nil {
				s.spare <- buffer
				w.desk.put(func(*desk) {})
			}
		})
	}
	if s.at == s.Hi {
		w.desk.drop(s)
	}
	return nil
}

// drop takes a stripe off the desk.
func (d *desk) drop(s *stripe) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stripes = slices.DeleteFunc(d.stripes, func(other *stripe) bool { return other == s })
}

// copyRest copies what has not been read of the stripes of a state that is about to change. It follows by itself.
func (w *Worker) copyRest() error {
	w.desk.mu.Lock()
	var all []*stripe
	if w.trainer.complete {
		all = slices.DeleteFunc(slices.Clone(w.desk.stripes), func(s *stripe) bool { return s.Step != w.trainer.applied })
	}
	w.desk.mu.Unlock()
	for _, s := range all {
		if err := s.announce(w.config.State); err != nil {
			return err
		}
		from := s.at
		body := make([]byte, s.Hi-s.at)
		if err := s.read(w.config.State, body); err != nil {
			return err
		}
		w.desk.drop(s)
		rest := &rest{stripe: s, at: from, body: body}
		for range partsFlying {
			rest.next(nil)
		}
	}
	return nil
}

// announce says what comes, before the first part.
func (s *stripe) announce(state State) error {
	if s.announced {
		return nil
	}
	s.announced = true
	s.Size = state.Size()
	s.Lo, s.Hi = stripeBounds(s.Size, s.takeMessage.Index, s.Of)
	s.Lo = min(s.Lo+max(s.Skip, 0), s.Hi)
	s.at = s.Lo
	body, err := json.Marshal(s.announcement)
	if err != nil {
		return err
	}
	s.to.conn.Send(fabric.Control, fabric.Header{Type: typeStripe, Epoch: s.asked, Step: s.Step}, body, nil)
	return nil
}

// read fills p with what comes next.
func (s *stripe) read(state State, p []byte) error {
	if err := state.ReadAt(p, s.at); err != nil {
		return fmt.Errorf("the state cannot be read for a joiner: %w", err)
	}
	s.at += int64(len(p))
	return nil
}

// send sends a part, which begins at a byte of the state.
func (s *stripe) send(part []byte, at int64, done func(error)) {
	h := fabric.Header{Type: typePart, Epoch: s.asked, Step: s.Step, Chunk: uint32(s.takeMessage.Index), Aux: uint64(at)}
	s.to.conn.Send(fabric.Bulk, h, part, done)
}

// stripeBounds are the bytes of a stripe, of so many, of a state.
func stripeBounds(size int64, index, of int) (lo, hi int64) {
	return size * int64(index) / int64(of), size * int64(index+1) / int64(of)
}

// rest is what is left of a stripe, on its way.
type rest struct {
	*stripe
	mu   sync.Mutex
	at   int64 // where body begins
	body []byte
}

// next sends the next part, when one before it has left or could not.
func (r *rest) next(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || len(r.body) == 0 {
		return
	}
	part := r.body[:min(partBytes, len(r.body))]
	at := r.at
	r.at, r.body = at+int64(len(part)), r.body[len(part):]
	r.send(part, at, r.next)
}
