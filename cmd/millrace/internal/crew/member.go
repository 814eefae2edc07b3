package crew

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"millrace.dev/group"
	"millrace.dev/group/ledger"
	"millrace.dev/learn/data"
	"millrace.dev/learn/train"
)

// Member is a worker of a group as its trainer sees it.
type Member struct {
	config    group.Config
	chronicle chronicle
	told      func(*Change, *skipWord) // hears of changes and skipped steps, on the trainer's goroutine

	ctx     context.Context // ends the worker at once
	abandon context.CancelCauseFunc
	worker  atomic.Pointer[group.Worker] // nil before the trainer has joined
	step    *group.Step
}

var _ train.Group = (*Member)(nil)

// errAbandoned ends a member that cannot leave its group in good order.
var errAbandoned = errors.New("the worker's parent is gone, and its group lets nobody leave")

// newMember makes a member that is started, with the vector and state filled in, when its trainer
// joins.
func newMember(config group.Config, c chronicle, told func(*Change, *skipWord)) *Member {
	m := &Member{config: config, chronicle: c, told: told}
	m.config.Changing = c.machine.makeRoom
	m.ctx, m.abandon = context.WithCancelCause(context.Background())
	return m
}

// Join implements train.Group.
func (m *Member) Join(n int, from train.Place, t train.Transfer) (local, mean []float32, err error) {
	c := m.config
	c.Elements, c.State = n, &state{transfer: t}
	c.From = group.Progress{Step: uint64(from.Step), Ledger: ledgerOf(from)}
	w, err := group.Start(m.ctx, c)
	if err != nil {
		return nil, nil, err
	}
	m.worker.Store(w)
	return w.Gradients(), w.Mean(), nil
}

// Begin implements train.Group.
func (m *Member) Begin(ctx context.Context) (train.Share, error) {
	s, err := m.worker.Load().Begin(ctx)
	if err != nil {
		return train.Share{}, left(err)
	}
	m.step = s
	return train.Share{
		Epoch: int(s.Epoch), Spans: spans(s.Shares), Offset: int(s.Offset), Scale: s.RateScale, Leader: s.Leader,
	}, nil
}

// left is err in the trainer's words.
func left(err error) error {
	switch {
	case errors.Is(err, group.ErrLeftLast):
		return train.ErrLeftLast
	case errors.Is(err, group.ErrLeft):
		return train.ErrLeft
	}
	return err
}

// Ready implements train.Group.
func (m *Member) Ready(lo, hi int) { m.step.Ready(lo, hi) }

// Commit implements train.Group.
func (m *Member) Commit(ctx context.Context, own train.Tally) (train.Verdict, error) {
	ready := time.Now()
	r, err := m.step.Commit(ctx, group.Report{
		Loss: own.Loss(), Norm2: own.Norm2, Correct: uint64(own.Correct), InTop: uint64(own.InTop),
		NonFinite: !own.Finite, Hash: own.Hash, Rate: own.Rate,
	})
	if err != nil {
		return train.Verdict{}, left(err)
	}
	if r.Outcome == group.Void {
		return train.Verdict{Void: true}, nil
	}
	v := train.Verdict{Apply: r.Outcome == group.Apply, Next: placeOf(r.Next)}
	for _, told := range r.Reports {
		if told.NonFinite {
			continue
		}
		v.Total.Samples += int(told.Samples)
		v.Total.LossSum += told.Loss * float64(told.Samples)
		v.Total.Correct += int(told.Correct)
		v.Total.InTop += int(told.InTop)
	}
	if !v.Apply {
		v.Culprit = culprit(r)
	}
	m.note(time.Since(ready), r, &v)
	return v, nil
}

// note takes down what the step means for the group.
func (m *Member) note(wait time.Duration, r group.Result, v *train.Verdict) {
	var change *Change
	if r.View.Epoch != m.chronicle.view.Epoch {
		runtime.GOMAXPROCS(m.chronicle.machine.processors(r)) // what makeRoom made is needed no more
	}
	change, v.Taken, v.Signals = m.chronicle.step(time.Now(), wait, r, m.step.RateScale)
	var skip *skipWord
	if v.Culprit != "" {
		skip = &skipWord{int(r.Step), v.Culprit}
	}
	if change != nil || skip != nil {
		m.told(change, skip)
	}
}

// Leave implements train.Group.
func (m *Member) Leave() {
	if w := m.worker.Load(); w != nil {
		w.Leave()
	}
}

// peerDown says that a worker of this name has ended.
func (m *Member) peerDown(name string) {
	if w := m.worker.Load(); w != nil {
		w.PeerDown(name)
	}
}

// settle waits until the other members have the last step, too.
func (m *Member) settle(ctx context.Context) {
	if w := m.worker.Load(); w != nil {
		_ = w.Settle(ctx) // this worker has trained to the end, whatever becomes of the others
	}
}

// close ends the member at once. To the others it has died.
func (m *Member) close() error {
	if w := m.worker.Load(); w != nil {
		return w.Close()
	}
	return nil
}

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
