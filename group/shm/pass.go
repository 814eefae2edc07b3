package shm

import (
	"context"
	"fmt"
	"time"

	"millrace.dev/group/internal/vec"
)

// pass is one operation's way through the staging areas. Each piece is copied in, summed and copied out: when direct,
// by every member for itself straight into its buffer, else a segment by each member into its own slot, where that
// segment's input, which nobody else needs, is left out. Several pieces are on their way at a time.
type pass struct {
	c      *Comm
	op     Operation
	buf    []byte
	meta   uint64
	base   uint64 // number of the first piece
	pieces uint64
	direct bool
	stream bool // results go past the caches

	in, summed, out uint64         // pieces that are through
	seen            [counts]uint64 // what everywhere was at the last look
}

func (p *pass) run(ctx context.Context) error {
	for p.out < p.pieces {
		if err := p.c.stop(); err != nil {
			return err
		}
		switch {
		case p.canOut():
			p.takeOut()
		case p.canSum():
			if err := p.sum(); err != nil {
				return err
			}
		case p.canIn():
			p.putIn()
		default:
			if err := p.wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
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

// piece is a piece's part of the buffer, its number, and the place of its slot in a stage.
func (p *pass) piece(i uint64) (part []byte, number uint64, slot int) {
	number = p.base + i
	size := p.c.piece
	lo := int(i) * size
	return p.buf[lo:min(lo+size, len(p.buf))], number, int(number%slots) * size
}

func (p *pass) putIn() {
	part, number, slot := p.piece(p.in)
	c, me := p.c, p.c.view.Rank
	to := c.stages[me][slot:]
	if p.direct {
		copy(to, part)
	} else {
		lo, hi := cut(len(part), me, len(c.stages))
		copy(to, part[:lo])
		copy(to[hi:], part[hi:])
	}
	c.boards[me].setMeta(number, p.meta)
	p.in++
	c.mark(ready, number+1)
}

func (p *pass) sum() error {
	part, number, slot := p.piece(p.summed)
	c, me := p.c, p.c.view.Rank
	for rank, b := range c.boards {
		if b.meta(number) != p.meta {
			return &MismatchError{rank, fmt.Sprintf("does not take part in this member's operation on %q (%d bytes) but in another, or with another type or size", p.op.Name, len(p.buf))}
		}
		c.parts[rank] = c.stages[rank][slot : slot+len(part)]
	}
	own := c.parts[me]
	if !p.direct || len(c.parts) == 2 { // where nothing is read after the result is written over it
		c.parts[me] = part
	}
	p.summed++
	if p.direct {
		p.combine(part, 0, len(part))
		p.out++
		c.mark(taken, number+1)
		return nil
	}
	lo, hi := cut(len(part), me, len(c.parts))
	p.combine(own, lo, hi)
	c.mark(done, number+1)
	return nil
}

// combine puts the result of bytes lo to hi of the parts there in to.
func (p *pass) combine(to []byte, lo, hi int) {
	const block = 32 << 10 // stays in the first cache
	parts := p.c.parts
	for ; lo < hi; lo += block {
		end := min(lo+block, hi)
		r := to[lo:end]
		p.op.Combine(r, parts[0][lo:end], parts[1][lo:end])
		for _, next := range parts[2:] {
			p.op.Combine(r, r, next[lo:end])
		}
		if p.op.Finish != nil {
			p.op.Finish(r)
		}
	}
}

func (p *pass) takeOut() {
	part, number, slot := p.piece(p.out)
	for rank, stage := range p.c.stages {
		lo, hi := cut(len(part), rank, len(p.c.stages))
		if p.stream {
			vec.Stream(part[lo:hi], stage[slot+lo:])
		} else {
			copy(part[lo:hi], stage[slot+lo:])
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

// wait waits until a stage can move on: it looks for a while and then sleeps.
func (p *pass) wait(ctx context.Context) error {
	if p.look() {
		return nil
	}
	own := p.c.boards[p.c.view.Rank]
	_, free := p.wantIn()
	own.setWant(ready, p.wantSum())
	own.setWant(done, p.wantOut())
	own.setWant(taken, free)
	defer func() {
		for k := range counts {
			own.setWant(k, 0)
		}
	}()
	if p.can() {
		return nil
	}
	select {
	case <-p.c.poke:
		return nil
	case <-p.c.canceled:
		return p.c.stop()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
