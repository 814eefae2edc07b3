package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Batch is a batch ready for a step. Its memory belongs to the loader.
type Batch struct {
	X       []float32 // len(Indices) samples, one after the other
	Y       []int32   // their labels
	Targets []float32 // their targets, of a Targeted data set
	Indices []int     // their places in the data set
	At      Cursor    // where the batch begins
	Next    Cursor    // where to go on: with the batch after this one
}

// LoaderOptions say what a loader gives out.
type LoaderOptions struct {
	Plan    Plan      // which samples; Samples is filled in from the data set
	Start   Cursor    // where to begin
	Epochs  int       // ends before this epoch; 0 means never
	Augment []Augment // applied in this order; needs images
	// Workers is the number of goroutines that prepare batches; with 0, Next itself does.
	Workers int
	// Ahead is how many batches are prepared before they are asked for; 0 means one more than
	// there are workers.
	Ahead int
}

// Loader gives out the batches of a data set in the order of its plan. With workers of its
// own it prepares some ahead; the batches are the same bits for any number of them. A
// Loader is used by one goroutine at a time.
type Loader struct {
	ds      Dataset
	plan    Plan
	augment *augmenter
	epochs  int

	cursor Cursor  // of the next batch to be assigned
	ring   []*slot // assigned in order; ring[head] is asked for next
	head   int
	lent   *slot // what the last Next gave out
	err    error // why the loader ended

	jobs    chan *slot // to the workers; nil without
	workers sync.WaitGroup
}

// slot is the memory of one batch and of its making.
type slot struct {
	batch    Batch
	maker    *Batcher
	span     Span // of positions in the epoch
	assigned bool
	err      error
	done     chan struct{} // holds a token when the batch is prepared
}

// NewLoader makes a loader and starts its workers; Close ends them.
func NewLoader(ds Dataset, opt LoaderOptions) (*Loader, error) {
	plan := opt.Plan
	plan.Samples = ds.Len()
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	if err := plan.Check(opt.Start); err != nil {
		return nil, err
	}
	if opt.Workers < 0 || opt.Ahead < 0 || opt.Epochs < 0 {
		return nil, fmt.Errorf("loader: %d workers, %d batches ahead and %d epochs: none may be negative", opt.Workers, opt.Ahead, opt.Epochs)
	}
	augment, err := newAugmenter(ds, opt.Augment, plan.Seed)
	if err != nil {
		return nil, err
	}
	l := &Loader{ds: ds, plan: plan, augment: augment, epochs: opt.Epochs, cursor: plan.Settle(opt.Start)}
	l.start(opt.Workers, opt.Ahead)
	return l, nil
}

// start makes the slots, hands all but one out to be prepared, and starts the workers.
func (l *Loader) start(workers, ahead int) {
	if workers == 0 {
		ahead = 0
	} else if ahead == 0 {
		ahead = workers + 1
	}
	for range ahead + 1 {
		l.ring = append(l.ring, l.newSlot())
	}
	if workers == 0 {
		return
	}
	l.jobs = make(chan *slot, len(l.ring))
	for range workers {
		l.workers.Go(func() {
			for s := range l.jobs {
				l.prepare(s)
				s.done <- struct{}{}
			}
		})
	}
	for _, s := range l.ring {
		l.assign(s)
	}
}

func (l *Loader) newSlot() *slot {
	return &slot{
		done: make(chan struct{}, 1), maker: newBatcher(l.ds, l.plan, l.augment),
		batch: Batch{
			X: make([]float32, l.plan.Batch*SampleSize(l.ds)), Y: make([]int32, l.plan.Batch),
			Targets: make([]float32, l.plan.Batch*TargetSize(l.ds)), Indices: make([]int, 0, l.plan.Batch),
		},
	}
}

// assign gives a free slot the next batch to hold, unless the epochs are over.
func (l *Loader) assign(s *slot) {
	s.assigned = l.epochs == 0 || l.cursor.Epoch < l.epochs
	if !s.assigned {
		return
	}
	s.batch.At = l.cursor
	s.span.From, s.span.To, s.batch.Next = l.plan.Span(l.cursor)
	l.cursor = s.batch.Next
	if l.jobs != nil {
		l.jobs <- s // never blocks: it has room for every slot
	}
}

// prepare fills a slot. It reads nothing of the loader that changes.
func (l *Loader) prepare(s *slot) {
	s.err = s.maker.Fill(&s.batch, s.batch.At.Epoch, s.span)
}

// ErrClosed is what a closed loader's Next returns.
var ErrClosed = errors.New("data: the loader is closed")

// Next gives the next batch, which stays valid until the following call. It returns io.EOF
// after the last epoch, and ctx's error when that ends first: the batch is then not lost,
// the next call gives it. Any other error is final.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	if l.err != nil {
		return nil, l.err
	}
	if l.lent != nil {
		if l.jobs != nil {
			l.assign(l.lent)
		}
		l.lent = nil
	}
	s := l.ring[l.head]
	if l.jobs == nil && !s.assigned {
		l.assign(s)
	}
	if !s.assigned {
		return nil, io.EOF
	}
	if err := l.await(ctx, s); err != nil {
		return nil, err
	}
	if s.err != nil {
		l.err = s.err
		return nil, l.err
	}
	if l.jobs == nil {
		s.assigned = false
	}
	l.head = (l.head + 1) % len(l.ring)
	l.lent = s
	return &s.batch, nil
}

// await returns when the slot is prepared, or ctx ends.
func (l *Loader) await(ctx context.Context, s *slot) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.jobs == nil {
		l.prepare(s)
		return nil
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the workers and waits for them. Batches given out are no longer valid.
func (l *Loader) Close() {
	if errors.Is(l.err, ErrClosed) {
		return
	}
	l.err = ErrClosed
	if l.jobs == nil {
		return
	}
	for len(l.jobs) > 0 { // what no worker has begun is left undone
		select {
		case <-l.jobs:
		default:
		}
	}
	close(l.jobs)
	l.workers.Wait()
}
