package collective

import "math/bits"

// block is a pooled buffer; it returns to the pool when nobody refers to it any more.
type block struct {
	bytes []byte
	class int
	refs  int
}

const (
	leastBlock = 256
	classes    = 11      // 256 bytes to 256 KiB
	spareBytes = 4 << 20 // at most kept of each class
)

// pool keeps blocks that were used. Its owner's lock guards it.
type pool struct {
	free [classes][]*block
}

// get returns a block of n ≤ sliceBytes bytes with one reference.
func (p *pool) get(n int) *block {
	class := bits.Len(uint(max(n, leastBlock)-1)) - bits.Len(uint(leastBlock-1))
	var b *block
	if free := p.free[class]; len(free) > 0 {
		b = free[len(free)-1]
		free[len(free)-1] = nil
		p.free[class] = free[:len(free)-1]
	} else {
		b = &block{bytes: make([]byte, leastBlock<<class), class: class}
	}
	b.bytes, b.refs = b.bytes[:n], 1
	return b
}

// put drops a reference; b may be nil.
func (p *pool) put(b *block) {
	if b == nil {
		return
	}
	if b.refs--; b.refs > 0 {
		return
	}
	b.bytes = b.bytes[:cap(b.bytes)]
	if (len(p.free[b.class])+1)*len(b.bytes) <= spareBytes {
		p.free[b.class] = append(p.free[b.class], b)
	}
}
