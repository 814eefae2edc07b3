package shm

import "sync/atomic"

// commBoard is what a member of a Comm shows the others: counts of pieces, over all exchanges of the view.
type commBoard board

// count is a stage that pieces go through.
type count int

const (
	ready count = iota // in the staging area
	done               // the member's segment is summed; unused for pieces that every member sums by itself
	taken              // the result is in the member's buffer, and nothing of the piece is needed by it any more
	counts
)

// Places of words, a cache line for each count.
const (
	commCount = 0
	commWant  = int(counts) * 8 // for each count how far it must come to wake the member; 0 asleep for nothing
	commAside = commWant + 8    // for each slot 1 if there is no input for its piece, else 0
	commWords = commAside + slots
)

func (b commBoard) word(c count) *atomic.Uint64 { return &b[commCount+8*int(c)] }
func (b commBoard) count(c count) uint64        { return b.word(c).Load() }
func (b commBoard) setCount(c count, v uint64)  { b.word(c).Store(v) }
func (b commBoard) want(c count) uint64         { return b[commWant+int(c)].Load() }
func (b commBoard) setWant(c count, v uint64)   { b[commWant+int(c)].Store(v) }
func (b commBoard) aside(piece uint64) bool     { return b[commAside+int(piece%slots)].Load() != 0 }
func (b commBoard) setAside(piece, v uint64)    { b[commAside+int(piece%slots)].Store(v) }

// everywhere is how far a count has come at the slowest member.
func (c *Comm) everywhere(k count) uint64 {
	least := c.boards[0].count(k)
	for _, b := range c.boards[1:] {
		least = min(least, b.count(k))
	}
	return least
}

// mark raises a count of this member and wakes those who wait for that. Who waits says so before it looks for the last
// time, and sleeps only as long as the count is what it saw.
func (c *Comm) mark(k count, v uint64) {
	me := c.view.Rank
	own := c.boards[me]
	own.setCount(k, v)
	for rank, b := range c.boards {
		if want := b.want(k); rank != me && want > 0 && v >= want {
			wake(own.word(k))
			return
		}
	}
}

// sleep waits until the members have come to v one after the other, for about a nap at most.
func (c *Comm) sleep(k count, v uint64) {
	own := c.boards[c.view.Rank]
	own.setWant(k, v)
	defer own.setWant(k, 0)
	for _, b := range c.boards {
		if seen := b.count(k); seen < v {
			if sleep(b.word(k), seen, nap); b.count(k) < v {
				return
			}
		}
	}
}
