package sim

import "math/bits"

// State is what a radio does.
type State int

// States of a radio.
const (
	Transmit State = iota
	Receive
	Idle
	Sleep
	states
)

// battery is a node's store of energy and the book of what it was spent on, in nanojoules.
type battery struct {
	left  int64
	spent [states]int64
}

// pay books nj under the state. When the battery holds less, all of it is spent and ok is false.
func (b *battery) pay(s State, nj int64) (ok bool) {
	ok = nj <= b.left
	nj = min(nj, b.left)
	b.left -= nj
	b.spent[s] += nj
	return ok
}

func (b *battery) total() int64 { return sum(b.spent) }

func sum(spent [states]int64) (total int64) {
	for _, nj := range spent {
		total += nj
	}
	return total
}

// nanojoules is nanowatts for nanoseconds, rounded down; at most maxEnergy.
func nanojoules(nanowatts, nanoseconds int64) int64 {
	hi, lo := bits.Mul64(uint64(nanowatts), uint64(nanoseconds))
	if hi >= 1e9 {
		return maxEnergy
	}
	q, _ := bits.Div64(hi, lo, 1e9)
	return int64(min(q, maxEnergy))
}

// maxEnergy bounds energies in nanojoules: 4.6 GJ.
const maxEnergy = 1 << 62
