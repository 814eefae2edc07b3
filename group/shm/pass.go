package shm

import (
	"time"

	"millrace.dev/group/internal/vec"
)

// pass is one reduction's way through the staging areas. Each piece is copied in, summed and copied out: when direct,
// by every member for itself straight into its buffer, else a segment by each member into its own slot, where that
// segment's input, which nobody else needs, is left out. Several pieces are on their way at a time. When a member stands
// aside all pieces go the same way without data.
type pass struct {
	c      *Comm
	r      *Reduction
	base   uint64 // number of the first piece
	pieces uint64
	direct bool
	stream bool // results go past the caches

	in, summed, out uint64         // pieces that are through
	seen            [counts]uint64 // what everywhere was at the last look
	aside           error          // who stands aside
}

func (p *pass) run() error {
	for p.out < p.pieces {
		if err := p.c.stop(); err != nil {
			return err
		}
		switch {
		case p.canOut():
			p.takeOut()
		case p.canSum():
			p.sum()
		case p.canIn():
			p.putIn()
		case !p.look():
			p.c.sleep(p.oldest())
		}
	}
	return p.aside
}

// A want is how far all must have come for a stage's next piece to move on; 0 when there is no such piece. A slot is free
// again when all have taken the piece that was there slots pieces ago; the first ones wait for nothing.

func (p *pass) wantOut() uint64 {
	if p.out == p.summed {
		return 0
	}
	return p.base + p.out + 1
}

func (p *pass) wantSum() uint64 {
	if p.summed == p.in {
		return 0
	}
	return p.base + p.summed + 1
}

func (p *pass) wantIn() (possible bool, free uint64) {
	if p.in == p.pieces || p.in == p.out+slots {
		return false, 0
	}
	return true, max(p.base+p.in+1, slots) - slots
}

func (p *pass) canOut() bool {
	v := p.wantOut()
	return v > 0 && p.come(done, v)
}

func (p *pass) canSum() bool {
	v := p.wantSum()
	return v > 0 && p.come(ready, v)
}

func (p *pass) canIn() bool {
	possible, free := p.wantIn()
	return possible && p.come(taken, free)
}

// come reports whether a count has come to v everywhere.
func (p *pass) come(k count, v uint64) bool {
	if p.seen[k] < v {
		p.seen[k] = p.c.everywhere(k)
	}
	return p.seen[k] >= v
}

// oldest is what the oldest piece under way waits for. Members that wait for that only do not wait for each other: nobody
// is behind for the sake of a younger piece.
func (p *pass) oldest() (count, uint64) {
	if v := p.wantOut(); v > 0 {
		return done, v
	}
	if v := p.wantSum(); v > 0 {
		return ready, v
	}
	_, free := p.wantIn()
	return taken, free
}

// piece is a piece's place in the buffers, its number, and the place of its slot in a stage.
func (p *pass) piece(i uint64) (lo, hi int, number uint64, slot int) {
	number = p.base + i
	lo = int(i) * p.c.piece
	return lo, min(lo+p.c.piece, p.r.Bytes), number, int(number%slots) * p.c.piece
}

func (p *pass) putIn() {
	lo, hi, number, slot := p.piece(p.in)
	c, me := p.c, p.c.view.Rank
	if p.aside != nil {
		c.boards[me].setAside(number, 1)
	} else {
		c.boards[me].setAside(number, 0)
		part, to := p.r.Src[lo:hi], c.stages[me][slot:]
		if p.direct {
			copy(to, part)
		} else {
			own, end := cut(len(part), me, len(c.stages))
			copy(to, part[:own])
			copy(to[end:], part[end:])
		}
	}
	p.in++
	c.mark(ready, number+1)
}

func (p *pass) sum() {
	lo, hi, number, slot := p.piece(p.summed)
	c, me := p.c, p.c.view.Rank
	for rank, b := range c.boards {
		if p.aside == nil && b.aside(number) {
			p.aside = &AsideError{Rank: rank}
		}
		c.parts[rank] = c.stages[rank][slot : slot+hi-lo]
	}
	p.summed++
	if p.aside == nil {
		own := c.parts[me]
		c.parts[me] = p.r.Src[lo:hi]
		if p.direct {
			p.combine(p.r.Dst[lo:hi], 0, hi-lo)
		} else {
			from, to := cut(hi-lo, me, len(c.parts))
			p.combine(own, from, to)
		}
	}
	if p.direct {
		p.out++
		c.mark(taken, number+1)
	} else {
		c.mark(done, number+1)
	}
}

// combine puts the result of bytes lo to hi of the parts there in to.
func (p *pass) combine(to []byte, lo, hi int) {
	const block = 32 << 10 // stays in the first cache
	parts := p.c.parts
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		r := to[lo:end]
		p.r.Combine(r, parts[0][lo:end], parts[1][lo:end])
		for _, next := range parts[2:] {
			p.r.Combine(r, r, next[lo:end])
		}
		if p.r.Finish != nil {
			p.r.Finish(r)
		}
	}
}

func (p *pass) takeOut() {
	lo, hi, number, slot := p.piece(p.out)
	for rank, stage := range p.c.stages {
		from, to := cut(hi-lo, rank, len(p.c.stages))
		switch {
		case p.aside != nil:
		case p.stream:
			vec.Stream(p.r.Dst[lo+from:lo+to], stage[slot+from:])
		default:
			copy(p.r.Dst[lo+from:lo+to], stage[slot+from:])
		}
	}
	p.out++
	p.c.mark(taken, number+1)
}

// cut gives the bytes of a piece that a rank sums: near-equal parts on cache lines.
func cut(bytes, rank, n int) (lo, hi int) {
	const line = 64
	lines := (bytes + line - 1) / line
	return min(bytes, lines*rank/n*line), min(bytes, lines*(rank+1)/n*line)
}

// look reports whether a stage can move on after a while.
func (p *pass) look() bool {
	if !p.c.spins {
		return p.leave()
	}
	for start := time.Now(); time.Since(start) < spin; {
		if p.can() {
			return true
		}
	}
	return false
}

// leave looks whenever it gets the CPU again after leaving it to others.
func (p *pass) leave() bool {
	c := p.c
	if c.naps > 0 {
		c.naps--
		return false
	}
	start := time.Now()
	for range turns {
		yield()
		if time.Since(start) > turn*time.Duration(len(c.boards)) {
			c.naps = naps
			return p.can()
		}
		if p.can() {
			return true
		}
	}
	return false
}

func (p *pass) can() bool { return p.canOut() || p.canSum() || p.canIn() }
