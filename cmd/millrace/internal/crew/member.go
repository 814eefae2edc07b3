package crew

import (
	"context"
	"errors"
	"fmt"

	"millrace.dev/group"
	"millrace.dev/group/ledger"
	"millrace.dev/learn/data"
	"millrace.dev/learn/tensor"
	"millrace.dev/learn/train"
)

// Member is a worker of a group as its trainer sees it.
type Member struct {
	start  func(group.Config) (*group.Worker, error)
	config group.Config
	worker *group.Worker
	step   *group.Step
	seen   func(group.Result) // is told each decided step
}

var _ train.Group = (*Member)(nil)

// NewMember makes a member that is started, with the vector and state filled in, when its trainer
// joins. Seen is called on the trainer's goroutine.
func NewMember(config group.Config, start func(group.Config) (*group.Worker, error), seen func(group.Result)) *Member {
	return &Member{config: config, start: start, seen: seen}
}

// Worker is the member's worker, nil before its trainer has joined.
func (m *Member) Worker() *group.Worker { return m.worker }

// Join implements train.Group.
func (m *Member) Join(n int, from train.Place, t train.Transfer) (local, mean []float32, err error) {
	c := m.config
	c.Elements, c.State = n, &state{transfer: t}
	c.From = group.Progress{Step: uint64(from.Step), Ledger: ledgerOf(from)}
	if m.worker, err = m.start(c); err != nil {
		return nil, nil, err
	}
	return m.worker.Gradients(), m.worker.Mean(), nil
}

// Begin implements train.Group.
func (m *Member) Begin(ctx context.Context) (train.Share, error) {
	s, err := m.worker.Begin(ctx)
	if errors.Is(err, group.ErrLeft) {
		return train.Share{}, train.ErrLeft
	}
	if err != nil {
		return train.Share{}, err
	}
	m.step = s
	return train.Share{
		Epoch: int(s.Epoch), Spans: spans(s.Shares), Offset: int(s.Offset), Scale: s.RateScale, Leader: s.Leader,
	}, nil
}

// Ready implements train.Group.
func (m *Member) Ready(lo, hi int) { m.step.Ready(lo, hi) }

// Commit implements train.Group.
func (m *Member) Commit(ctx context.Context, own train.Tally) (train.Verdict, error) {
	r, err := m.step.Commit(ctx, group.Report{
		Loss: own.Loss(), Norm2: own.Norm2, Correct: uint64(own.Correct), InTop: uint64(own.InTop),
		NonFinite: !own.Finite, Hash: own.Hash, Rate: own.Rate,
	})
	if err != nil {
		return train.Verdict{}, err
	}
	if r.Outcome == group.Void {
		return train.Verdict{Void: true}, nil
	}
	if m.seen != nil {
		m.seen(r)
	}
	v := train.Verdict{Apply: r.Outcome == group.Apply, Next: placeOf(r.Next)}
	for _, told := range r.Reports {
		if told.NonFinite {
			v.Culprit = told.Name
			continue
		}
		v.Total.Samples += int(told.Samples)
		v.Total.LossSum += told.Loss * float64(told.Samples)
		v.Total.Correct += int(told.Correct)
		v.Total.InTop += int(told.InTop)
	}
	return v, nil
}

// Leave implements train.Group.
func (m *Member) Leave() { m.worker.Leave() }

func spans(ranges []group.Range) []data.Span {
	var list []data.Span
	for _, r := range ranges {
		list = append(list, data.Span{From: int(r.Lo), To: int(r.Hi)})
	}
	return list
}

func ledgerOf(p train.Place) ledger.Ledger {
	l := ledger.Ledger{Epoch: uint64(p.Cursor.Epoch), Next: uint64(p.Cursor.Position)}
	for _, s := range p.Returned {
		l.Returned = append(l.Returned, ledger.Range{Lo: uint64(s.From), Hi: uint64(s.To)})
	}
	return l
}

func placeOf(p group.Progress) train.Place {
	return train.Place{
		Step:     int(p.Step),
		Cursor:   data.Cursor{Epoch: int(p.Ledger.Epoch), Position: int(p.Ledger.Next)},
		Returned: spans(p.Ledger.Returned),
	}
}

// maxDescription bounds what a newcomer takes besides the vectors.
const maxDescription = 64 << 20

// state is a trainer's numbers as a sequence of bytes: its vectors, one after the other, and then
// its description.
type state struct {
	transfer    train.Transfer
	vectors     [][]byte
	size        int64 // of the vectors
	description []byte
}

// refresh looks at the trainer as it is now.
func (s *state) refresh() {
	s.vectors, s.size = s.vectors[:0], 0
	for _, v := range s.transfer.Vectors() {
		b := tensor.BytesF32(v)
		s.vectors = append(s.vectors, b)
		s.size += int64(len(b))
	}
}

// Size implements group.State. It fixes the description that ReadAt gives until the next call.
func (s *state) Size() int64 {
	s.refresh()
	text, err := s.transfer.Describe()
	if err != nil {
		text = nil // a newcomer cannot read it and says so
	}
	s.description = text
	return s.size + int64(len(text))
}

// ReadAt implements group.State.
func (s *state) ReadAt(p []byte, off int64) error {
	return s.each(p, off, func(part, mine []byte) { copy(part, mine) })
}

// Restore implements group.State.
func (s *state) Restore(size int64) error {
	s.refresh()
	n := size - s.size
	if n < 2 || n > maxDescription {
		return fmt.Errorf("the group's state has %d bytes, this worker's vectors have %d: it trains something else", size, s.size)
	}
	s.description = make([]byte, n)
	return nil
}

// WriteAt implements group.State.
func (s *state) WriteAt(p []byte, off int64) error {
	return s.each(p, off, func(part, mine []byte) { copy(mine, part) })
}

// Restored implements group.State.
func (s *state) Restored(uint64) error {
	text := s.description
	s.description = nil
	return s.transfer.Adopt(text)
}

// each gives do the parts of p, which stands at off, with what belongs there.
func (s *state) each(p []byte, off int64, do func(part, mine []byte)) error {
	at := int64(0)
	whole := p
	for _, v := range append(s.vectors[:len(s.vectors):len(s.vectors)], s.description) {
		if rel := off - at; len(p) > 0 && rel >= 0 && rel < int64(len(v)) {
			n := min(int64(len(p)), int64(len(v))-rel)
			do(p[:n], v[rel:rel+n])
			p, off = p[n:], off+n
		}
		at += int64(len(v))
	}
	if len(p) > 0 {
		return fmt.Errorf("%d bytes from %d on are not within a state of %d bytes", len(whole), off, at)
	}
	return nil
}
