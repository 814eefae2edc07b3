package shm

import "millrace.dev/group/reduce"

// wordSize is the size of an element in bytes.
const wordSize = 4

const (
	// maxMappings bounds the mappings of one Mean: a process may have 65,530 of all kinds.
	maxMappings = 16384
	// enoughBlocks is how many blocks let summing go on beside the computation: with more of them a new view takes
	// longer to stand, as it maps each one's segments.
	enoughBlocks = 24
)

// layout cuts a vector into blocks, and each block into one segment for each member. Bounds of segments lie on pages.
type layout struct {
	elements int
	page     int // bytes
	n        int // members
	block    int // elements
}

func newLayout(elements, page, n int) layout {
	l := layout{elements: elements, page: page, n: n, block: reduce.Chunk}
	for l.blocks() >= 2*enoughBlocks || l.blocks()*n > maxMappings {
		l.block *= 2
	}
	return l
}

// blocks is the number of blocks.
func (l layout) blocks() int { return (l.elements + l.block - 1) / l.block }

// bounds are the elements of a block.
func (l layout) bounds(block int) (lo, hi int) {
	return block * l.block, min((block+1)*l.block, l.elements)
}

// segment gives the elements of a block that a rank sums, possibly none. Which rank gets a page more, or the only
// page there is, moves on from block to block.
func (l layout) segment(block, rank int) (lo, hi int) {
	from, to := l.bounds(block)
	per := l.page / wordSize
	pages := (to - from + per - 1) / per
	part := (rank + block) % l.n
	return min(to, from+pages*part/l.n*per), min(to, from+pages*(part+1)/l.n*per)
}

// slot is the room for a segment in a share, in elements: whole pages.
func (l layout) slot() int {
	per := l.page / wordSize
	pages := (min(l.block, l.elements) + per - 1) / per
	return (pages + l.n - 1) / l.n * per
}

// vectorBytes is the size of a vector in whole pages.
func (l layout) vectorBytes() int { return roundUp(l.elements*wordSize, l.page) }

// boardBytes is the size of a team's board in whole pages.
func (l layout) boardBytes() int { return roundUp((boardReady+l.blocks())*8, l.page) }

// shareBytes is the size of a share: a board and a slot for each block.
func (l layout) shareBytes() int { return l.boardBytes() + l.blocks()*l.slot()*wordSize }

// slotAt is where the slot of a block lies in a share, in bytes.
func (l layout) slotAt(block int) int { return l.boardBytes() + block*l.slot()*wordSize }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
