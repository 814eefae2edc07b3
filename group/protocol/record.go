package protocol

import "slices"

// Facts are what each prepared member knows of a step from its reduction.
type Facts struct {
	Weight uint64 // samples in the mean: the sum over all contributors
	Finite bool   // every element of the mean is finite
}

// Record is what one member tells all others with a step.
type Record struct {
	Samples uint64  // its weight in the mean
	Correct uint64  // samples that it classified right
	InTop   uint64  // samples whose class was among its best guesses
	Loss    float64 // mean over its samples
	Norm2   float64 // squared norm of its gradient
	Rate    float64 // the learning rate with which it will update
	Hash    uint64  // of its parameters and optimiser before this step, 0 if unknown
	Finite  bool    // of its own gradient
	Ready   bool    // its state is complete and it takes a share of the next step
	// Leave and Join are wishes; the machine fills them in from Wish events.
	Leave bool
	Join  []Member
}

// Entry is a record and whose it is.
type Entry struct {
	ID     ID
	Record Record
}

// Result is all that is known of a committed step.
type Result struct {
	Step  uint64
	Epoch uint64 // of the view over which it was reduced
	Facts Facts
	// Records are in rank order. Those of members that died in the step may be missing.
	Records []Entry
}

// Culprits are the members whose own gradient was not finite.
func (r *Result) Culprits() []ID {
	var ids []ID
	for _, e := range r.Records {
		if !e.Record.Finite {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Diverged are the members whose state before the step was not that of the first record with a
// known hash.
func (r *Result) Diverged() []ID {
	var ids []ID
	var first uint64
	for _, e := range r.Records {
		switch h := e.Record.Hash; {
		case h == 0 || h == first:
		case first == 0:
			first = h
		default:
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Ready are the members that take a share of the next step.
func (r *Result) Ready() []ID {
	var ids []ID
	for _, e := range r.Records {
		if e.Record.Ready && !e.Record.Leave {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// wishes returns who wants to leave and who is to be let in.
func (r *Result) wishes() (leave []ID, join []Member) {
	for _, e := range r.Records {
		if e.Record.Leave {
			leave = append(leave, e.ID)
		}
		for _, m := range e.Record.Join {
			if !slices.ContainsFunc(join, func(j Member) bool { return j.ID == m.ID }) {
				join = append(join, m)
			}
		}
	}
	return leave, join
}

// inOrder sorts entries by the members' ranks.
func (v View) inOrder(entries []Entry) {
	rank := make(map[ID]int, len(v.Members))
	for r, m := range v.Members {
		rank[m.ID] = r
	}
	slices.SortFunc(entries, func(a, b Entry) int { return rank[a.ID] - rank[b.ID] })
}
