package shm

import (
	"time"

	"millrace.dev/group/internal/vec"
)

// pass is one exchange's way through the staging areas. Each of its pieces has a segment for each member, which moves on in
// stages: in, by those that give something of it, into their slots; summed by its member; out, to all. A kind may lack the
// second or the third stage. Several pieces are on their way at a time. When a member stands aside all pieces go the same way
// without data.
type pass struct {
	c      *Comm
	x      *Exchange
	base   uint64 // number of the first piece
	pieces uint64
	chunk  int  // bytes of a segment of scattered and gathered pieces
	direct bool // two members, each of which sums all for itself, straight into its buffer
	stream bool // results go past the caches

	in, summed, out uint64         // pieces that are through
	seen            [counts]uint64 // what everywhere was at the last look
	aside           error          // who stands aside
}

// prepare cuts an exchange into pieces.
func (p *pass) prepare() {
	c, x := p.c, p.x
	n, bytes := len(c.stages), x.Bytes
	p.chunk = c.piece
	switch x.Kind {
	case AllReduce:
		p.direct = n == 2
		p.stream = n*bytes >= streamBytes
	case ReduceScatter:
		p.chunk = c.piece / n &^ (line - 1)
		bytes = x.longest(n)
	case AllGather:
		bytes = x.longest(n)
	}
	p.base, p.pieces = c.next, uint64((bytes+p.chunk-1)/p.chunk)
	if x.Aside {
		p.aside = &AsideError{Rank: c.view.Rank}
	}
}

// segment is the place of a member's segment of a piece in the buffer, and in a slot.
func (p *pass) segment(i uint64, rank int) (lo, hi, slot int) {
	x, n, at := p.x, len(p.c.stages), int(i)*p.chunk
	switch {
	case x.Kind == ReduceScatter || x.Kind == AllGather:
		lo, hi = x.part(rank, n)
		lo = min(hi, lo+at)
		hi = min(hi, lo+p.chunk)
		if x.Kind == ReduceScatter {
			slot = rank * p.chunk
		}
		return lo, hi, slot
	case p.direct || x.Kind == Broadcast && rank == x.Root:
		return at, min(at+p.chunk, x.Bytes), 0
	case x.Kind == Broadcast:
		return at, at, 0
	}
	from, to := cut(min(p.chunk, x.Bytes-at), rank, n)
	return at + from, at + to, from
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

// slot is a piece's number, and the place of its slot in a stage.
func (p *pass) slot(i uint64) (number uint64, at int) {
	number = p.base + i
	return number, int(number%slots) * p.c.piece
}

// putIn copies what others need: of a reduction all segments but the own one, else that only.
func (p *pass) putIn() {
	c, me := p.c, p.c.view.Rank
	number, at := p.slot(p.in)
	if p.aside != nil {
		c.boards[me].setAside(number, 1)
	} else {
		c.boards[me].setAside(number, 0)
		for rank := range c.stages {
			if lo, hi, slot := p.segment(p.in, rank); (rank == me) != p.x.Kind.reduces() {
				copy(c.stages[me][at+slot:], p.x.src(lo, hi, me, len(c.stages)))
			}
		}
	}
	p.in++
	if p.x.Kind.reduces() {
		c.mark(ready, number+1)
	} else { // there is nothing to sum
		p.summed++
		c.mark(done, number+1)
	}
}

// checkAside notes who stands aside in a piece.
func (p *pass) checkAside(number uint64) {
	for rank, b := range p.c.boards {
		if p.aside == nil && b.aside(number) {
			p.aside = &AsideError{Rank: rank}
		}
	}
}

// sum sums the own segment, in the slot where others take it from; when direct straight into the buffer, which may be the own
// source: of two members' that is read before it is written over.
func (p *pass) sum() {
	c, me := p.c, p.c.view.Rank
	number, at := p.slot(p.summed)
	p.checkAside(number)
	if p.aside == nil {
		lo, hi, slot := p.segment(p.summed, me)
		for rank, stage := range c.stages {
			c.parts[rank] = stage[at+slot : at+slot+hi-lo]
		}
		sum := c.parts[me]
		c.parts[me] = p.x.src(lo, hi, me, len(c.stages))
		if p.direct {
			sum = p.x.dst(lo, hi, me, len(c.stages))
		}
		if p.combine(sum); p.x.Kind == ReduceScatter {
			copy(p.x.dst(lo, hi, me, len(c.stages)), sum)
		}
	}
	p.summed++
	if p.direct || p.x.Kind == ReduceScatter { // nobody takes it out
		p.out++
		c.mark(taken, number+1)
	} else {
		c.mark(done, number+1)
	}
}

// combine puts the result of the parts in to.
func (p *pass) combine(to []byte) {
	const block = 32 << 10 // stays in the first cache
	parts := p.c.parts
	for lo := 0; lo < len(to); lo += block {
		end := min(lo+block, len(to))
		r := to[lo:end]
		p.x.Combine(r, parts[0][lo:end], parts[1][lo:end])
		for _, next := range parts[2:] {
			p.x.Combine(r, r, next[lo:end])
		}
		if p.x.Finish != nil {
			p.x.Finish(r)
		}
	}
}

// takeOut copies all segments.
func (p *pass) takeOut() {
	c, me := p.c, p.c.view.Rank
	number, at := p.slot(p.out)
	p.checkAside(number)
	for rank, stage := range c.stages {
		lo, hi, slot := p.segment(p.out, rank)
		if p.aside != nil || p.x.Kind == Broadcast && me == p.x.Root {
			break
		}
		to, from := p.x.dst(lo, hi, me, len(c.stages)), stage[at+slot:]
		if p.stream {
			vec.Stream(to, from)
		} else {
			copy(to, from)
		}
	}
	p.out++
	c.mark(taken, number+1)
}

// line is the size of a cache line.
const line = 64

// cut gives the bytes of a piece that a rank sums: near-equal parts on cache lines.
func cut(bytes, rank, n int) (lo, hi int) {
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
