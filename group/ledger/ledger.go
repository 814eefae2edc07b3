package ledger

// Range is the positions Lo up to, not including, Hi of an epoch's order.
type Range struct{ Lo, Hi uint64 }

// Len is the number of positions.
func (r Range) Len() uint64 { return r.Hi - r.Lo }

// Ledger is the account of the running epoch. The zero value is the start of epoch 0.
type Ledger struct {
	Epoch    uint64
	Next     uint64  // all positions from here on are not handed out yet
	Returned []Range // below Next, handed out and come back; ascending, apart
}

// Share is what one member computes in a step.
type Share struct {
	Member uint64
	Ranges []Range
}

// Len is the number of samples of the share.
func (s Share) Len() uint64 {
	n := uint64(0)
	for _, r := range s.Ranges {
		n += r.Len()
	}
	return n
}
