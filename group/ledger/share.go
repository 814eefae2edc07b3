package ledger

// Share is what one member computes in a step.
type Share struct {
	Member uint64
	Ranges []Range // in the order of the batch
}

// Len is the number of samples of the share.
func (s Share) Len() uint64 {
	n := uint64(0)
	for _, r := range s.Ranges {
		n += r.Len()
	}
	return n
}

// Assign cuts the next batch, or what is left of the epoch's size samples if that is less, into a
// share for each member, in their order. Shares differ by one sample at most; those of late members
// are empty if there are fewer samples than members.
func (l Ledger) Assign(size, batch uint64, members []uint64) []Share {
	shares := make([]Share, len(members))
	if len(members) == 0 {
		return shares
	}
	n := min(batch, l.Left(size))
	each, more := n/uint64(len(members)), n%uint64(len(members))
	for i, id := range members {
		k := each
		if uint64(i) < more {
			k++
		}
		shares[i].Member = id
		shares[i].Ranges, l = l.take(k)
	}
	return shares
}
