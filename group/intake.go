package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"millrace.dev/fabric"
	"millrace.dev/group/ledger"
)

// intake takes the stripes of a state on the connections' goroutines.
type intake struct {
	w           *Worker
	step        uint64
	incarnation int

	mu    sync.Mutex
	size  int64  // once the first stripe is announced
	known bool   // size is
	spans []span // the stripes by index
	done  int64  // bytes that have come
}

// span is a stripe as it comes.
type span struct {
	from      ID     // 0: nobody
	asked     uint64 // in which epoch; what comes of it bears that
	announced bool
	came      int64 // bytes, from the stripe's beginning on
	all       int64 // its bytes, once announced
}

func (s *span) isAnnounced() bool { return s.announced }

// whole says whether nothing of a stripe is missing.
func (s *span) whole() bool { return s.announced && s.came == s.all }

// forsake expects nothing more of a source with which the connections have ended.
func (in *intake) forsake(from ID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range in.spans {
		if s := &in.spans[i]; s.from == from {
			s.from = 0
		}
	}
}

// lost gives the stripes that do not come whole, as nobody in the view gives them.
func (in *intake) lost(v View) (stripes []int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range in.spans {
		if s := &in.spans[i]; !s.whole() && !v.Has(s.from) {
			stripes = append(stripes, i)
		}
	}
	return stripes
}

// assign says from whom a stripe comes, asked in an epoch, and what to ask for.
func (in *intake) assign(i int, from ID, epoch uint64) takeMessage {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := &in.spans[i]
	s.from, s.asked, s.announced = from, epoch, false
	return takeMessage{Step: in.step, Index: i, Of: len(in.spans), Skip: s.came}
}

// announce takes a stripe's announcement.
func (w *Worker) announce(from ID, h fabric.Header, body []byte) error {
	in := w.intake.Load()
	if in == nil || h.Step != in.step {
		return nil // of an attempt that is over
	}
	var a announcement
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("an announcement that cannot be read: %w", err)
	}
	l, err := ledger.Decode(a.Ledger)
	if err == nil && w.config.Data.Samples > 0 {
		err = l.Check(w.config.Data.Samples)
	}
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.span(a.Index, from, h.Epoch)
	if s == nil {
		return nil // as above
	}
	if s.announced {
		return errors.New("a stripe is announced twice")
	}
	lo, hi := stripeBounds(a.Size, a.Index, len(in.spans))
	if a.Size < 0 || a.Size > maxState || a.Lo != lo+s.came || a.Hi != hi {
		return fmt.Errorf("bytes %d to %d of a state of %d for stripe %d", a.Lo, a.Hi, a.Size, a.Index)
	}
	if !in.known {
		in.size, in.known = a.Size, true
		if err := w.config.State.Restore(a.Size); err != nil {
			w.post(func(lp *loop) { lp.fail(fmt.Errorf("a state of %d bytes cannot be restored: %w", a.Size, err)) })
			return err
		}
	} else if in.size != a.Size {
		return fmt.Errorf("a state of %d bytes, where others have %d", a.Size, in.size)
	}
	s.announced, s.all = true, hi-lo
	if in.all((*span).isAnnounced) {
		w.post(func(lp *loop) { lp.announced(in, l, a.Sharers) })
		in.check()
	}
	return nil
}

// part takes bytes of the state.
func (w *Worker) part(from ID, h fabric.Header, body []byte) error {
	in := w.intake.Load()
	if in == nil || h.Step != in.step {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.span(int(h.Chunk), from, h.Epoch)
	if s == nil {
		return nil
	}
	lo, _ := stripeBounds(in.size, int(h.Chunk), len(in.spans))
	if !s.announced || int64(h.Aux) != lo+s.came || s.came+int64(len(body)) > s.all {
		return fmt.Errorf("%d bytes of the state at %d, which was not announced", len(body), h.Aux)
	}
	if err := w.config.State.WriteAt(body, lo+s.came); err != nil {
		w.post(func(lp *loop) { lp.fail(fmt.Errorf("the state cannot be restored: %w", err)) })
		return err
	}
	s.came += int64(len(body))
	in.done += int64(len(body))
	in.check()
	return nil
}

// span is the stripe of an index if it was asked of a member in an epoch, else nil. in is locked.
func (in *intake) span(i int, from ID, asked uint64) *span {
	if i < 0 || i >= len(in.spans) {
		return nil
	}
	if s := &in.spans[i]; s.from == from && s.asked == asked {
		return s
	}
	return nil
}

// promised says whether all stripes are announced: none is of another step.
func (in *intake) promised() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.all((*span).isAnnounced)
}

// all says whether all stripes are so. in is locked.
func (in *intake) all(so func(*span) bool) bool {
	for i := range in.spans {
		if !so(&in.spans[i]) {
			return false
		}
	}
	return true
}

// check tells the loop once everything has come. in is locked.
func (in *intake) check() {
	if in.all((*span).whole) {
		in.w.post(func(lp *loop) { lp.arrived(in) })
	}
}

// progress is how many bytes of the state are announced, and how many have come.
func (in *intake) progress() (size, copied int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.size, in.done
}
