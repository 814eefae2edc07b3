package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// Append appends the ledger's encoding to b: varints of epoch, next, the number of returned ranges,
// and for each the distance from the end of the one before, and its length.
func (l Ledger) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, l.Epoch)
	b = binary.AppendUvarint(b, l.Next)
	b = binary.AppendUvarint(b, uint64(len(l.Returned)))
	end := uint64(0)
	for _, r := range l.Returned {
		b = binary.AppendUvarint(b, r.Lo-end)
		b = binary.AppendUvarint(b, r.Len())
		end = r.Hi
	}
	return b
}

var errTorn = errors.New("the ledger's bytes are torn")

// Decode reads a ledger from bytes that Append wrote. [Ledger.Check] tells whether it makes sense.
func Decode(b []byte) (Ledger, error) {
	var l Ledger
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	whole := b
	l.Epoch, l.Next = next(), next()
	count := next()
	if count > uint64(len(b))/2 { // a range takes two bytes at least
		return Ledger{}, errTorn
	}
	end := uint64(0)
	for range count {
		lo := end + next()
		hi := lo + next()
		if lo < end || hi <= lo {
			return Ledger{}, errTorn
		}
		l.Returned = append(l.Returned, Range{lo, hi})
		end = hi
	}
	if !bytes.Equal(l.Append(nil), whole) {
		return Ledger{}, errTorn
	}
	return l, nil
}
