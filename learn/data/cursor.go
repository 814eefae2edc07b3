package data

import "fmt"

// Cursor is a place in the endless sequence of samples: all the state that the order of
// training has. It counts samples over all ranks, so it stays true when the batch size or
// the number of ranks changes.
type Cursor struct {
	Epoch    int `json:"epoch"`
	Position int `json:"position"` // samples of this epoch already given out
}

// Plan says which samples make up the batch at a cursor. It is a pure description: equal
// plans give equal batches.
type Plan struct {
	Samples  int    // in the data set
	Batch    int    // samples per batch and rank
	Shuffle  bool   // a new order for every epoch; else the order of the data set
	Seed     uint64 // of the order
	DropLast bool   // leave out the samples of an epoch that do not fill a batch on every rank
	// Rank takes its part of each step: with n ranks, the step's n·Batch consecutive positions
	// are cut into n runs, so n ranks of B see what one rank of n·B sees, in the same order.
	Rank  int
	Ranks int // 0 means 1
}

// Validate tells what is wrong with the plan.
func (p Plan) Validate() error {
	switch {
	case p.Samples <= 0:
		return fmt.Errorf("the data set has no samples")
	case p.Batch <= 0:
		return fmt.Errorf("batch size %d is not positive", p.Batch)
	case p.Ranks < 0 || p.Rank < 0 || p.Rank >= p.ranks():
		return fmt.Errorf("rank %d is not one of %d ranks", p.Rank, p.ranks())
	case p.DropLast && p.Samples/p.ranks() < p.Batch:
		return fmt.Errorf("batch size %d on %d rank(s) is larger than the data set (%d samples): no batch is ever full", p.Batch, p.ranks(), p.Samples)
	}
	return nil
}

func (p Plan) ranks() int { return max(p.Ranks, 1) }

// step is the number of samples that all ranks take together.
func (p Plan) step() int { return p.Batch * p.ranks() }

// Steps is the number of batches each rank takes per epoch.
func (p Plan) Steps() int {
	if p.DropLast {
		return p.Samples / p.step()
	}
	return (p.Samples + p.step() - 1) / p.step()
}

// Check refuses a cursor that this plan cannot stand at.
func (p Plan) Check(c Cursor) error {
	if c.Epoch < 0 || c.Position < 0 || c.Position > p.Samples {
		return fmt.Errorf("cursor at epoch %d, sample %d is not in a data set of %d samples", c.Epoch, c.Position, p.Samples)
	}
	return nil
}

// Settle moves a cursor that stands at the end of its epoch to the start of the next one.
func (p Plan) Settle(c Cursor) Cursor {
	left := p.Samples - c.Position
	if left <= 0 || p.DropLast && left < p.step() {
		return Cursor{Epoch: c.Epoch + 1}
	}
	return c
}

// Span gives the positions [from, to) that this rank takes at a settled cursor, and the
// settled cursor of the batch after it. In a short last step the samples are shared
// evenly; with more ranks than samples some ranks then get none.
func (p Plan) Span(c Cursor) (from, to int, next Cursor) {
	n := p.ranks()
	size := min(p.step(), p.Samples-c.Position)
	from = c.Position + size*p.Rank/n
	to = c.Position + size*(p.Rank+1)/n
	next = p.Settle(Cursor{Epoch: c.Epoch, Position: c.Position + size})
	return from, to, next
}

// Indices appends to dst the samples at positions [from, to) of an epoch.
func (p Plan) Indices(dst []int, epoch, from, to int) []int {
	if !p.Shuffle {
		for i := from; i < to; i++ {
			dst = append(dst, i)
		}
		return dst
	}
	perm := NewPermutation(p.Samples, p.Seed, uint64(epoch))
	for i := from; i < to; i++ {
		dst = append(dst, perm.At(i))
	}
	return dst
}
