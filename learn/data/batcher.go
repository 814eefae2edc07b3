package data

import (
	"fmt"
	"slices"
)

// Span is a run of positions in an epoch's order: From and all up to, but not, To.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Len is the number of positions.
func (s Span) Len() int { return s.To - s.From }

// Batcher makes batches of any positions of an epoch. What it makes depends on the data set,
// the plan's seed and the positions alone. A Batcher is used by one goroutine at a time.
type Batcher struct {
	ds      Dataset
	plan    Plan
	augment *augmenter // nil for none
	image   *Image     // nil without augmentation
	rand    Rand
}

// NewBatcher makes a batcher for a plan's order and seed; its batch size and ranks play no part.
func NewBatcher(ds Dataset, plan Plan, augment []Augment) (*Batcher, error) {
	plan.Samples = ds.Len()
	if plan.Samples == 0 {
		return nil, plan.Validate()
	}
	a, err := newAugmenter(ds, augment, plan.Seed)
	if err != nil {
		return nil, err
	}
	return newBatcher(ds, plan, a), nil
}

func newBatcher(ds Dataset, plan Plan, augment *augmenter) *Batcher {
	b := &Batcher{ds: ds, plan: plan, augment: augment}
	if augment != nil {
		b.image = newImage(ds)
	}
	return b
}

// Fill makes the batch of the samples at some positions of an epoch, in their order, in the
// batch's own memory, which grows where it is too small. Positions outside the data set are an error.
func (m *Batcher) Fill(b *Batch, epoch int, spans ...Span) error {
	b.Indices = b.Indices[:0]
	for _, s := range spans {
		if s.From < 0 || s.To < s.From || s.To > m.plan.Samples {
			return fmt.Errorf("positions %d to %d are not in a data set of %d samples", s.From, s.To, m.plan.Samples)
		}
		b.Indices = m.plan.Indices(b.Indices, epoch, s.From, s.To)
	}
	n, size := len(b.Indices), SampleSize(m.ds)
	b.X, b.Y = grown(b.X, n*size), grown(b.Y, n)
	b.Targets = grown(b.Targets, n*TargetSize(m.ds))
	if err := m.ds.Batch(b.X, b.Y, b.Indices); err != nil {
		return err
	}
	if err := targets(m.ds, b.Targets, b.Indices); err != nil || m.augment == nil {
		return err
	}
	for i, index := range b.Indices {
		m.augment.apply(m.image, b.X[i*size:(i+1)*size], &m.rand, epoch, index)
	}
	return nil
}

// grown is a slice of n elements in the memory of another, if that is large enough.
func grown[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
