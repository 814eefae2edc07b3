package group

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"millrace.dev/group/reduce"
	"millrace.dev/group/steplog"
)

// Step is one turn of the training loop.
type Step struct {
	Number uint64
	Epoch  uint64  // of the data
	Shares []Range // this worker's samples; none: it computes nothing and calls Commit
	Offset uint64  // samples of the step's batch that come before them
	Weight uint64  // their number
	Batch  uint64  // samples of the whole group in this step
	// RateScale is the linear rule for the learning rate: the group's nominal batch over Data.Base.
	RateScale float64
	Leader    bool // the first member whose state is complete: one of the group does what one should
	View      View // as the step begins

	w           *Worker
	incarnation int
	begun       *plane   // over which this goroutine has begun the step
	ready       [][2]int // elements, in the order of Ready
	queued      *queued  // the step is over; its result waits
}

// verdict is the group's word on a step, and its line in the log.
type verdict struct {
	result    Result
	rateScale float64
	record    steplog.Record
	err       error
}

// queued is the verdict on a step that was committed while this worker's state was on its way.
type queued struct {
	*verdict
	mean []float32 // a copy, nil where Worker.Mean still has it or there is none
}

// What a joiner keeps while its state is on its way: results of at most so many bytes together, but never
// fewer than minQueue nor more than maxQueue. Then the group waits for it.
const (
	queueBytes = 512 << 20
	minQueue   = 2
	maxQueue   = 64
)

// queueLimit is how many results of so many elements a joiner keeps.
func queueLimit(elements int) int {
	return min(max(queueBytes/4/elements, minQueue), maxQueue)
}

// noView is the epoch of no view.
const noView = math.MaxUint64

// trainer is the state of the trainer's goroutine.
type trainer struct {
	incarnation int
	applied     uint64 // the last step whose update is in the parameters
	complete    bool   // the state is
	queue       []queued
	step        *Step // under way
}

// Begin starts the next step, once the one before is committed. It returns ErrLeft after Leave, or ErrLeftLast.
func (w *Worker) Begin(ctx context.Context) (*Step, error) {
	if s := w.trainer.step; s != nil && s.incarnation == w.incarnation() {
		return nil, fmt.Errorf("step %d is not committed", s.Number)
	}
	for {
		w.live(w.incarnation())
		t := &w.trainer
		if t.complete && len(t.queue) > 0 {
			t.step = w.past(&t.queue[0])
			return t.step, nil
		}
		step, err := w.nextTurn(ctx)
		if err != nil {
			return nil, err
		}
		if step == nil {
			continue
		}
		t.step = step
		if !step.absent() {
			if w.config.Data.Samples > 0 {
				step.begin()
			}
			return step, nil
		}
		if err := w.follow(ctx, step); err != nil {
			return nil, err
		}
	}
}

// past is a step that is over, for a trainer that has to catch up.
func (w *Worker) past(q *queued) *Step {
	return &Step{
		Number: q.result.Step, Epoch: q.record.DataEpoch, Batch: q.result.Weight, RateScale: q.rateScale, View: q.result.View,
		w: w, incarnation: w.trainer.incarnation, queued: q,
	}
}

func (w *Worker) incarnation() int {
	w.desk.mu.Lock()
	defer w.desk.mu.Unlock()
	return w.desk.incarnation
}

// live makes the trainer one of the present incarnation.
func (w *Worker) live(incarnation int) {
	t := &w.trainer
	if t.incarnation == incarnation {
		return
	}
	*t = trainer{incarnation: incarnation, applied: w.config.From.Step, complete: incarnation == 1 && len(w.config.Founders) > 0}
	if t.complete {
		w.agreed.Store(1)
	} else {
		w.agreed.Store(noView)
		w.post(func(lp *loop) { lp.join(incarnation) })
	}
}

// absent says that this worker only follows: its state is not there.
func (s *Step) absent() bool { return !s.w.trainer.complete }

// nextTurn waits for the next step, and does meanwhile what the loop asks for. It returns nil when
// something has changed that Begin must look at.
func (w *Worker) nextTurn(ctx context.Context) (*Step, error) {
	t, d := &w.trainer, w.desk
	for {
		d.mu.Lock()
		due := w.stripeDue()
		switch {
		case d.err != nil:
			err := d.err
			d.mu.Unlock()
			return nil, err
		case d.incarnation != t.incarnation:
			d.mu.Unlock()
			return nil, nil
		case d.arrived != nil:
			a := d.arrived
			d.arrived = nil
			d.mu.Unlock()
			if err := w.restored(a); err != nil {
				return nil, err
			}
			return nil, nil
		case d.turn != nil && (t.complete || len(t.queue) < queueLimit(w.config.Elements)):
			s := *d.turn
			d.turn = nil
			d.mu.Unlock()
			s.w, s.incarnation = w, t.incarnation
			return &s, nil
		case due != nil: // after the turn: Commit has time for it
			d.mu.Unlock()
			if err := w.give(due); err != nil {
				return nil, err
			}
			continue
		}
		d.mu.Unlock()
		if err := w.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// wait waits until the desk has changed.
func (w *Worker) wait(ctx context.Context) error {
	select {
	case <-w.desk.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Weigh sets the number of samples of this worker's gradient, before the first Ready, where
// Config.Data leaves that to the caller.
func (s *Step) Weigh(samples uint64) {
	if s.w.config.Data.Samples == 0 && s.begun == nil {
		s.Weight = samples
	}
}

// Ready says that the gradient's elements lo up to hi are complete and stay as they are. Parts may
// come in any order, each once; Commit declares the rest. A worker without samples need not call it.
func (s *Step) Ready(lo, hi int) {
	if s.queued != nil || lo >= hi {
		return
	}
	s.ready = append(s.ready, [2]int{lo, hi})
	if !s.begin() {
		s.begun.reducer.Ready(lo, hi)
	}
}

// begin begins the step over the plane on the desk, with all that is ready, unless it has begun
// there or there is none now. It reports whether nothing is left to do for the newest range.
func (s *Step) begin() bool {
	d := s.w.desk
	d.mu.Lock()
	p := d.plane
	if p == nil || d.incarnation != s.incarnation {
		d.mu.Unlock()
		return true // it will be begun when there is one
	}
	if p == s.begun {
		d.mu.Unlock()
		return false
	}
	d.started = p
	d.mu.Unlock()
	s.begun = p
	w, number := s.w, s.Number
	done := func(f reduce.Facts, err error) {
		w.post(func(lp *loop) { lp.reduced(p, number, f, err) })
	}
	if err := p.prepare(); err != nil {
		done(reduce.Facts{}, err)
		return true
	}
	p.reducer.Begin(number, s.Weight, done)
	for _, r := range s.ready {
		p.reducer.Ready(r[0], r[1])
	}
	return true
}

// rest declares what Ready has not.
func (s *Step) rest() {
	slices.SortFunc(s.ready, func(a, b [2]int) int { return a[0] - b[0] })
	at := 0
	var gaps [][2]int
	for _, r := range s.ready {
		if r[0] > at {
			gaps = append(gaps, [2]int{at, r[0]})
		}
		at = max(at, r[1])
	}
	if at < s.w.config.Elements {
		gaps = append(gaps, [2]int{at, s.w.config.Elements})
	}
	for _, g := range gaps {
		s.Ready(g[0], g[1])
	}
}

// Commit waits until the group has agreed on the step.
func (s *Step) Commit(ctx context.Context, report Report) (Result, error) {
	w := s.w
	t := &w.trainer
	if t.step != s {
		return Result{}, fmt.Errorf("step %d is over", s.Number)
	}
	if s.queued != nil {
		return w.dequeue()
	}
	s.rest()
	since := time.Now()
	v, err := s.await(ctx, report)
	w.waited.Add(int64(time.Since(since)))
	if err != nil {
		return Result{}, err
	}
	t.step = nil
	if v.result.Outcome == Void {
		w.agreed.Store(noView)
		return v.result, nil
	}
	t.applied = s.Number
	w.agreed.Store(v.record.View)
	w.record(v)
	return v.result, v.err
}

// await hands in the report and waits for the verdict, beginning the reduction anew where the view
// changes.
func (s *Step) await(ctx context.Context, report Report) (*verdict, error) {
	w, d := s.w, s.w.desk
	w.post(func(lp *loop) { lp.report(s.incarnation, s.Number, s.Weight, report) })
	for {
		d.mu.Lock()
		due := w.stripeDue()
		switch {
		case d.plane != nil && d.plane != s.begun && d.verdict == nil && d.err == nil && d.incarnation == s.incarnation:
			// Before the stripes: others wait for it.
			d.mu.Unlock()
			s.begin()
			continue
		case d.verdict != nil:
			v := d.verdict
			d.verdict = nil
			d.mu.Unlock()
			return v, w.copyRest()
		case d.incarnation != s.incarnation || errors.Is(d.err, ErrLeft):
			d.mu.Unlock()
			return &verdict{result: Result{Step: s.Number, Outcome: Void}}, nil
		case d.err != nil:
			err := d.err
			d.mu.Unlock()
			return nil, err
		case due != nil:
			d.mu.Unlock()
			if err := w.give(due); err != nil {
				return nil, err
			}
			continue
		case d.arrived != nil && s.absent():
			a := d.arrived
			d.arrived = nil
			d.mu.Unlock()
			if err := w.restored(a); err != nil {
				return nil, err
			}
			continue
		}
		d.mu.Unlock()
		if err := w.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// follow takes part in a step with weight 0 while the state is on its way, and keeps the result.
func (w *Worker) follow(ctx context.Context, s *Step) error {
	s.Weight, s.Shares = 0, nil
	s.rest()
	v, err := s.await(ctx, Report{})
	w.trainer.step = nil
	if err != nil || v.result.Outcome == Void {
		return err
	}
	w.record(v)
	q := queued{verdict: v}
	if v.result.Outcome == Apply && (!w.trainer.complete || len(w.trainer.queue) > 0) {
		q.mean = slices.Clone(w.Mean())
	}
	w.trainer.queue = append(w.trainer.queue, q)
	return nil
}

// dequeue gives the trainer a result that was kept for it.
func (w *Worker) dequeue() (Result, error) {
	t := &w.trainer
	q := t.queue[0]
	t.queue, t.step = t.queue[1:], nil
	if q.mean != nil {
		if err := w.memory.own(); err != nil {
			return Result{}, err
		}
		copy(w.Mean(), q.mean)
	}
	t.applied = q.result.Step
	w.agreed.Store(q.record.View)
	return q.result, q.err
}

// record writes the step log; an error is told and training goes on.
func (w *Worker) record(v *verdict) {
	if w.config.Log == nil {
		return
	}
	if err := w.config.Log.Append(&v.record); err != nil {
		w.config.Logger.Error("the step log misses a step", "step", v.record.Step, "err", err)
		w.post(func(lp *loop) { lp.trouble = fmt.Sprintf("the step log misses step %d: %v", v.record.Step, err) })
	}
}
