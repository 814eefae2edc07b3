package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zeebo/xxh3"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/internal/vec"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/tensor"
)

// Group is a trainer's side of the workers that train one model as one. They take the same
// steps, each on its share of a step's samples, and stay equal to the bit: an update is a
// function of the mean gradient and of numbers on which all agree. Its methods are called on the
// goroutine of Run, except Leave.
type Group interface {
	// Join gives the vectors of n elements in which gradients are exchanged: local takes this
	// worker's, mean holds the samples' mean over all workers after a commit. A group that begins
	// goes on from the place; the trainer's transfer is used during Begin only.
	Join(n int, from Place, t Transfer) (local, mean []float32, err error)
	// Begin waits until the worker may take its next step, and gives its share of it. A newcomer, or
	// one that was taken for dead, gets the others' state through its transfer first. It fails with
	// ErrLeft, or ErrLeftLast, when the worker has left.
	Begin(ctx context.Context) (Share, error)
	// Ready tells that the elements [lo, hi) of local stay as they are until Commit returns.
	Ready(lo, hi int)
	// Commit waits until the step is decided.
	Commit(ctx context.Context, own Tally) (Verdict, error)
	// Leave asks to leave after the step that is under way. It may be called at any time.
	Leave()
}

// ErrLeft is what Group.Begin returns when the worker has left its group.
var ErrLeft = errors.New("train: the worker has left its group")

// ErrLeftLast is an ErrLeft of the one worker that is to keep the group's state: nobody goes on who has it.
var ErrLeftLast = fmt.Errorf("%w, as the last that has its state", ErrLeft)

// Transfer is what a newcomer gets of the others: a description, and vectors that have the same
// lengths on all workers.
type Transfer interface {
	// Vectors are the trainer's own: they are read in one that gives, written in one that takes.
	Vectors() [][]float32
	// Describe gives all that the vectors do not hold.
	Describe() ([]byte, error)
	// Adopt goes on from a description; the vectors have been written before.
	Adopt(description []byte) error
}

// Place is where a run stands in its data.
type Place struct {
	Step     int
	Cursor   data.Cursor
	Returned []data.Span // of this epoch, given out before the cursor but not trained on
}

// Share is a worker's part of a step's batch.
type Share struct {
	Epoch  int
	Spans  []data.Span // positions in the epoch's order; none when the worker only follows
	Offset int         // samples of the batch that come before them
	Scale  float64     // factor on the learning rate that goes with the size of the batch; the same for all workers
	Leader bool        // this worker writes what the run leaves behind
}

// Samples of the share.
func (s Share) Samples() int {
	n := 0
	for _, span := range s.Spans {
		n += span.Len()
	}
	return n
}

// Tally is what a worker says of its share when it commits.
type Tally struct {
	Metrics
	Finite bool    // loss and gradients are
	Norm2  float64 // squared norm of its gradient, 0 when it was not finite
	Rate   float64 // learning rate of the step
	Hash   uint64  // of the state before the step, 0 when it was not computed
}

// Verdict is what all workers know of a decided step.
type Verdict struct {
	// Void says that the step is not decided for this worker, which was taken for dead: Begin
	// gives it the others' state.
	Void    bool
	Apply   bool    // else the step is skipped: a gradient was not finite
	Culprit string  // the worker whose numbers were not finite, "" when unknown
	Total   Metrics // of all shares that count
	Next    Place   // of the coming step

	// Taken are decisions of the group that are in force since before the step, and Signals what it
	// measured of the step. They go to the journal.
	Taken   []control.Taken
	Signals []control.Signal
}

// maxSkips is how many steps in a row are skipped because of numbers that are not finite.
const maxSkips = 3

// hashEvery is the number of steps between two comparisons of the workers' state.
const hashEvery = 100

// groupBucket is the size from which neighbouring gradients are handed on together: large enough
// to be worth a message, small enough to overlap with the backward pass.
const groupBucket = 1 << 20

// stepInGroup takes one step with the group.
func (t *Trainer) stepInGroup(ctx context.Context) error {
	share, err := t.cfg.Group.Begin(ctx)
	if err != nil {
		return err
	}
	t.leader = share.Leader
	rate := t.rate() * share.Scale
	own, cause, err := t.local(share)
	if err != nil {
		return err
	}
	own.Rate = rate
	if t.state.Step%hashEvery == 0 {
		own.Hash = t.Hash()
	}
	ready := time.Now()
	v, err := t.cfg.Group.Commit(ctx, own)
	if err != nil || v.Void {
		return err
	}
	t.waited += time.Since(ready)
	t.waits++
	if v.Apply {
		err = t.applyMean(rate)
	} else {
		err = t.skip(v, cause)
	}
	if err != nil {
		return err
	}
	t.state.Step++
	t.state.Cursor, t.state.Returned = v.Next.Cursor, v.Next.Returned
	t.state.Running.addAll(v.Total)
	t.windowMetrics.addAll(v.Total)
	t.noteVerdict(v)
	return nil
}

// noteVerdict writes down what the group has decided and measured.
func (t *Trainer) noteVerdict(v Verdict) {
	now := time.Now()
	for _, d := range v.Taken {
		t.note(t.loop.Take(d, uint64(t.state.Step-1), now))
	}
	for _, s := range v.Signals {
		t.observe(now, s.Name, s.Unit, s.Value)
	}
}

// local computes the gradients of a share. The states that a forward pass changes, as running
// means are, go with the gradients and stay as they were here. It returns the cause when numbers
// are not finite.
func (t *Trainer) local(share Share) (own Tally, cause, err error) {
	own.Finite = true
	if share.Samples() == 0 {
		t.cfg.Group.Ready(0, len(t.mean))
		return own, nil, nil
	}
	b := &t.batch
	if err := t.maker.Fill(b, share.Epoch, share.Spans...); err != nil {
		return own, nil, err
	}
	r, err := t.steps.of(len(b.Indices))
	if err != nil {
		return own, nil, err
	}
	if err := r.load(b); err != nil {
		return own, nil, err
	}
	copy(t.statesBefore, t.vectors.States)
	at := t.groupStep(share)
	t.norm2 = 0
	err = r.Run(engine.Backward, at)
	copy(t.localStates, t.vectors.States)
	copy(t.vectors.States, t.statesBefore)
	params := len(t.vectors.Params)
	if err != nil {
		cause = t.explain(r, at, err)
		if _, ok := errors.AsType[*DivergedError](cause); !ok {
			return own, nil, cause
		}
		own.Finite = false
		t.vectors.Grads[0] = float32(math.NaN()) // the others learn of it with the data, too
		t.cfg.Group.Ready(0, params)
	} else {
		r.count(&own.Metrics, b)
		own.Norm2 = t.norm2
	}
	if len(t.localStates) > 0 {
		t.cfg.Group.Ready(params, len(t.mean))
	}
	return own, cause, nil
}

// handOn gives the group a bucket that is complete, and adds up its squares while it is still in a cache.
func (t *Trainer) handOn(b engine.Range) {
	t.cfg.Group.Ready(b.Lo, b.Hi)
	t.norm2 += vec.SumSquares(t.vectors.Grads[b.Lo:b.Hi])
}

// groupStep is what the random choices of a share depend on: the step and the share's place in
// its batch. One worker alone takes the same choices as a trainer without a group.
func (t *Trainer) groupStep(share Share) engine.Step {
	seed := t.cfg.Seed
	if share.Offset > 0 {
		r := data.NewRand(seed, 0, uint64(share.Offset), purposeShare)
		seed = r.Uint64()
	}
	return engine.Step{Seed: seed, Index: uint64(t.state.Step)}
}

// purposeShare keeps a share's random choices apart from others of the same seed.
const purposeShare = 0x7368617265

// applyMean updates the weights with the mean gradient, and takes over the mean states.
func (t *Trainer) applyMean(rate float64) error {
	optim.Hyper(t.updater.hyper, t.state.Step, rate)
	at := engine.Step{Seed: t.cfg.Seed, Index: uint64(t.state.Step)}
	if err := t.updater.Run(engine.Update, at); err != nil {
		return diverged(t.state.Step+1, err)
	}
	copy(t.vectors.States, t.mean[len(t.vectors.Params):])
	t.skips = 0
	return nil
}

// skip passes a step over, unless too many were.
func (t *Trainer) skip(v Verdict, cause error) error {
	if t.skips++; t.skips <= maxSkips {
		return nil
	}
	if cause != nil {
		return cause
	}
	who := "a worker"
	if v.Culprit != "" {
		who = "worker " + v.Culprit
	}
	bad := &engine.NonFiniteError{What: "the gradient of " + who, Value: math.NaN()}
	return &DivergedError{Step: t.state.Step + 1, Err: bad}
}

// joinGroup gives the vectors their place in the group's memory.
func (t *Trainer) joinGroup(p engine.Program) error {
	v := t.vectors
	params, n := len(v.Params), len(v.Params)+len(v.States)
	from := Place{t.state.Step, t.state.Cursor, t.state.Returned}
	local, mean, err := t.cfg.Group.Join(n, from, transfer{t})
	if err != nil {
		return &joinError{err}
	}
	if len(local) != n || len(mean) != n {
		return fmt.Errorf("train: the group's vectors have %d and %d elements, want %d", len(local), len(mean), n)
	}
	v.Grads, t.localStates, t.mean = local[:params:params], local[params:], mean
	t.statesBefore = make([]float32, len(v.States))
	if t.cfg.Stop != nil {
		t.best = weightsLike(v)
	}
	if t.maker, err = data.NewBatcher(t.cfg.Train, data.Plan{Shuffle: true, Seed: t.cfg.Seed}, t.cfg.Augment); err != nil {
		return err
	}
	update := *v
	update.Grads = mean[:params:params]
	t.updater, err = newRunner(p, &update, t.cfg.Model, t.cfg.losses())
	return err
}

// joinError is a group's, which is no fault of the model.
type joinError struct{ error }

// Hash is a fingerprint of the weights, the optimizer's numbers and the states, to the bit.
func (t *Trainer) Hash() uint64 {
	h := xxh3.New()
	for _, vector := range t.numbers() {
		h.Write(tensor.BytesF32(vector))
	}
	return max(h.Sum64(), 1)
}

// numbers are the vectors that a run's future depends on.
func (t *Trainer) numbers() [][]float32 {
	return append([][]float32{t.vectors.Params, t.vectors.States}, t.vectors.Slots...)
}

// transfer is a trainer as its group sees it.
type transfer struct{ *Trainer }

// Vectors implements Transfer.
func (t transfer) Vectors() [][]float32 {
	list := t.numbers()
	if t.best != nil {
		list = append(list, t.best.Params, t.best.States)
	}
	return list
}

// Describe implements Transfer.
func (t transfer) Describe() ([]byte, error) { return json.Marshal(description{t.about, t.state}) }

// Adopt implements Transfer. Policies hear of the epochs that this process did not see, so that
// they decide what they have decided elsewhere.
func (t transfer) Adopt(text []byte) error {
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("train: the state of the group: %w", err)
	}
	if err := t.about.same(d.About); err != nil {
		return configErrorf("the group trains something else: %v", err)
	}
	if err := d.State.check(); err != nil {
		return fmt.Errorf("train: the state of the group: %w", err)
	}
	t.retell(t.state, d.State)
	return nil
}

// retell goes from one state to a later one, and gives policies the signals of the epochs between
// them.
func (t *Trainer) retell(from, to State) {
	seen := from.concluded()
	for _, e := range to.Epochs {
		if e.Step > seen {
			t.state.Step = e.Step
			t.conclude(e)
		}
	}
	t.state = to
}
