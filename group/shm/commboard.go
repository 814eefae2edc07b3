package shm

import (
	"millrace.dev/fabric"
	"millrace.dev/group/reduce"
)

// commBoard is what a member of a Comm shows the others: counts of pieces, over all operations of the view.
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
	commWant  = int(counts) * 8 // for each count how far it must come everywhere to wake the member; 0 asleep for nothing
	commMeta  = commWant + 8    // of the operation that a slot's piece belongs to
	commWords = commMeta + slots
)

func (b commBoard) count(c count) uint64       { return b[commCount+8*int(c)].Load() }
func (b commBoard) setCount(c count, v uint64) { b[commCount+8*int(c)].Store(v) }
func (b commBoard) want(c count) uint64        { return b[commWant+int(c)].Load() }
func (b commBoard) setWant(c count, v uint64)  { b[commWant+int(c)].Store(v) }
func (b commBoard) meta(piece uint64) uint64   { return b[commMeta+int(piece%slots)].Load() }
func (b commBoard) setMeta(piece, v uint64)    { b[commMeta+int(piece%slots)].Store(v) }

// everywhere is how far a count has come at the slowest member.
func (c *Comm) everywhere(k count) uint64 {
	least := c.boards[0].count(k)
	for _, b := range c.boards[1:] {
		least = min(least, b.count(k))
	}
	return least
}

// mark raises a count of this member and wakes those who wait for it, once. Who waits says so before it looks for
// the last time, so that the member whose mark comes last finds it.
func (c *Comm) mark(k count, v uint64) {
	me := c.view.Rank
	c.boards[me].setCount(k, v)
	reached := uint64(0) // unknown
	for rank, b := range c.boards {
		w := b.want(k)
		if rank == me || w == 0 || c.told[rank][k] == w {
			continue
		}
		if reached == 0 {
			reached = c.everywhere(k)
		}
		if reached >= w {
			c.told[rank][k] = w
			c.wake(rank)
		}
	}
}

// CommType is the type of a Comm's frames, which have no body.
const CommType = reduce.LastType - 1

func (c *Comm) wake(rank int) {
	c.view.Send(rank, fabric.Control, fabric.Header{Type: CommType, Epoch: c.view.Epoch}, nil, nil)
}
