package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"millrace.dev/fabric"
	"millrace.dev/group/ledger"
)

// intake takes the stripes on the connections' goroutines.
type intake struct {
	w           *Worker
	epoch, step uint64
	incarnation int
	sources     []Member

	mu    sync.Mutex
	size  int64 // once announced
	spans map[ID]*span
	left  int64 // bytes of the announced stripes that have not come
}

// span is a stripe as it comes.
type span struct{ next, hi int64 }

// from says whether all that is missing comes from members of the view.
func (in *intake) from(v View) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, m := range in.sources {
		if s := in.spans[m.ID]; !v.Has(m.ID) && (s == nil || s.next < s.hi) {
			return false
		}
	}
	return true
}

func (in *intake) source(id ID) bool {
	return slices.ContainsFunc(in.sources, func(m Member) bool { return m.ID == id })
}

// announce takes a stripe's announcement.
func (w *Worker) announce(from ID, h fabric.Header, body []byte) error {
	in := w.intake.Load()
	if in == nil || h.Epoch != in.epoch || h.Step != in.step || !in.source(from) {
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
	if a.Size < 0 || a.Size > maxState || a.Lo < 0 || a.Lo > a.Hi || a.Hi > a.Size {
		return fmt.Errorf("bytes %d to %d of a state of %d", a.Lo, a.Hi, a.Size)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.spans[from] != nil {
		return errors.New("a stripe is announced twice")
	}
	if len(in.spans) == 0 {
		in.size, in.left = a.Size, a.Size
		if err := w.config.State.Restore(a.Size); err != nil {
			w.post(func(lp *loop) { lp.fail(fmt.Errorf("a state of %d bytes cannot be restored: %w", a.Size, err)) })
			return err
		}
	} else if in.size != a.Size {
		return fmt.Errorf("a state of %d bytes, where others have %d", a.Size, in.size)
	}
	in.spans[from] = &span{a.Lo, a.Hi}
	if len(in.spans) == len(in.sources) {
		w.post(func(lp *loop) { lp.announced(in, l, a.Sharers) })
		in.check()
	}
	return nil
}

// part takes bytes of the state.
func (w *Worker) part(from ID, h fabric.Header, body []byte) error {
	in := w.intake.Load()
	if in == nil || h.Epoch != in.epoch || h.Step != in.step {
		return nil
	}
	if crc32.Checksum(body, castagnoli) != h.Bucket {
		return errors.New("a part of the state has a wrong checksum")
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.spans[from]
	if s == nil || int64(h.Aux) != s.next || s.next+int64(len(body)) > s.hi {
		return fmt.Errorf("%d bytes of the state at %d, which was not announced", len(body), h.Aux)
	}
	if err := w.config.State.WriteAt(body, s.next); err != nil {
		w.post(func(lp *loop) { lp.fail(fmt.Errorf("the state cannot be restored: %w", err)) })
		return err
	}
	s.next += int64(len(body))
	in.left -= int64(len(body))
	in.check()
	return nil
}

// check tells the loop once everything has come. in is locked.
func (in *intake) check() {
	if in.left == 0 && len(in.spans) == len(in.sources) {
		in.w.post(func(lp *loop) { lp.arrived(in) })
	}
}

// progress is how many bytes of the state are announced, and how many have come.
func (in *intake) progress() (size, copied int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.size, in.size - in.left
}
