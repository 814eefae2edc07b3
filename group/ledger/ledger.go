package ledger

import (
	"fmt"
	"slices"
)

// Range is the positions Lo up to, not including, Hi of an epoch's order.
type Range struct{ Lo, Hi uint64 }

// Len is the number of positions.
func (r Range) Len() uint64 { return r.Hi - r.Lo }

// Ledger is the account of the running epoch. The zero value is the start of epoch 0. Ledgers are
// values: no method changes one.
type Ledger struct {
	Epoch    uint64
	Next     uint64  // all positions from here on are not handed out yet
	Returned []Range // below Next, handed out and come back; ascending, apart
}

// Left is how many of the epoch's size positions are not used yet.
func (l Ledger) Left(size uint64) uint64 {
	left := size - l.Next
	for _, r := range l.Returned {
		left += r.Len()
	}
	return left
}

// Check says what is wrong with a ledger that was read, for an epoch of size positions.
func (l Ledger) Check(size uint64) error {
	if l.Next > size {
		return fmt.Errorf("the ledger is at sample %d of %d", l.Next, size)
	}
	end := uint64(0)
	for i, r := range l.Returned {
		if r.Lo >= r.Hi || r.Hi > l.Next || i > 0 && r.Lo <= end {
			return fmt.Errorf("the ledger's returned samples %d to %d are empty, out of order, or not below %d", r.Lo, r.Hi, l.Next)
		}
		end = r.Hi
	}
	return nil
}

// Commit returns the ledger after a step with these shares, of which those of the contributors are
// used and the others come back. size is the number of samples of an epoch; after its last the
// ledger is at the start of the next epoch.
func (l Ledger) Commit(size uint64, shares []Share, contributes func(member uint64) bool) Ledger {
	n := uint64(0)
	var back []Range
	for _, s := range shares {
		n += s.Len()
		if !contributes(s.Member) {
			back = append(back, s.Ranges...)
		}
	}
	_, rest := l.take(n)
	rest.Returned = union(rest.Returned, back)
	if rest.Next >= size && len(rest.Returned) == 0 {
		return Ledger{Epoch: l.Epoch + 1}
	}
	return rest
}

// take cuts off the next n positions: the returned ones, from the lowest, and then fresh ones.
func (l Ledger) take(n uint64) (taken []Range, rest Ledger) {
	rest = Ledger{Epoch: l.Epoch, Next: l.Next}
	for i, r := range l.Returned {
		if n < r.Len() {
			if n > 0 {
				taken = append(taken, Range{r.Lo, r.Lo + n})
			}
			rest.Returned = append([]Range{{r.Lo + n, r.Hi}}, l.Returned[i+1:]...)
			return taken, rest
		}
		taken, n = append(taken, r), n-r.Len()
	}
	if n > 0 {
		taken = append(taken, Range{l.Next, l.Next + n})
		rest.Next += n
	}
	return taken, rest
}

// union merges two lists of ranges into one that is ascending and has no ranges that touch.
func union(a, b []Range) []Range {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y Range) int {
		if x.Lo < y.Lo {
			return -1
		}
		return 1
	})
	merged := all[:0]
	for _, r := range all {
		if k := len(merged); k > 0 && merged[k-1].Hi >= r.Lo {
			merged[k-1].Hi = max(merged[k-1].Hi, r.Hi)
		} else {
			merged = append(merged, r)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return merged
}
