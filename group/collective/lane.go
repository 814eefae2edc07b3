package collective

import "fmt"

// lane is where a call stands in one of its lanes.
type lane struct {
	code     []instr
	number   int
	pc       int
	inbox    []message
	busy     bool // somebody is at it, perhaps without the lock
	complete bool
	received bool

	// The lane's value: in acc, which begins with element accLo, or in Dst, or else in Src.
	acc    *block
	accLo  int
	inDst  bool
	absent bool   // nobody has contributed to it yet; of weighted means only
	weight uint64 // of its contributors
}

// message is a frame that has come.
type message struct {
	from   int
	nth    int    // of its frames in the lane
	length int    // of the frame's body
	block  *block // where the body lies; nil if it is in place, or empty
	absent bool
	weight uint64
}

func (l *lane) reset(code []instr, number int, r Request) {
	*l = lane{code: code, number: number, inbox: l.inbox[:0]}
	if r.Op == WeightedMean {
		l.weight, l.absent = r.Weight, r.Weight == 0
	}
}

// drop gives back what a lane holds.
func (l *lane) drop(p *pool) {
	p.put(l.acc)
	l.acc = nil
	for i := range l.inbox {
		p.put(l.inbox[i].block)
	}
	l.inbox = l.inbox[:0]
}

// takeFor takes the message that an action waits for.
func (l *lane) takeFor(in *instr) (message, bool) {
	for i, m := range l.inbox {
		if m.from == in.peer && m.nth == in.nth {
			l.inbox = append(l.inbox[:i], l.inbox[i+1:]...)
			return m, true
		}
	}
	return message{}, false
}

// initiate starts lanes as long as not too many frames that start something are on their way.
func (e *Engine) initiate(c *Call) {
	for c.result == pending && c.fresh < maxFresh && c.next < len(c.lanes) {
		l := &c.lanes[c.next]
		c.next++
		e.run(c, l)
	}
}

// run goes on with a lane as far as it can. The lock is released while sums are made.
func (e *Engine) run(c *Call, l *lane) {
	if l.busy || l.complete || c.result != pending {
		return
	}
	l.busy = true
	for l.pc < len(l.code) && c.result == pending {
		in := &l.code[l.pc]
		var m message
		if in.receives() {
			var ok bool
			if m, ok = l.takeFor(in); !ok {
				break
			}
			l.received = true
		}
		e.step(c, l, in, m)
		l.pc++
	}
	l.busy = false
	switch {
	case c.result != pending:
		l.drop(&e.pool)
	case l.pc == len(l.code):
		l.complete, c.total = true, l.weight
		l.drop(&e.pool)
		c.left--
		if c.task.algorithm == Shared && c.task.rank == 0 {
			e.grant(c)
		}
	}
}

// step does one action. It owns m's block.
func (e *Engine) step(c *Call, l *lane, in *instr, m message) {
	switch in.do {
	case send:
		e.pass(c, l, in)
	case merge:
		e.merge(c, l, in, m)
	case settle:
		e.settleIn(c, l, in, m)
	case accept:
		if c.req.Op == WeightedMean {
			l.absent, l.weight = m.absent, m.weight
		}
		if dst := c.dst(in); l.absent {
			clear(dst)
		} else if m.block != nil {
			e.aside(c, len(dst), func() { copy(dst, m.block.bytes) })
		}
		e.pool.put(m.block)
		e.inDst(l)
	case store:
		e.store(c, l, in)
	case result:
		if l.acc == nil && (!l.absent || c.holds(in)) {
			e.store(c, l, in)
		}
		if v := c.value(l, in); !l.absent {
			e.aside(c, len(v), func() { finish(c.typ(), c.req.Op, v, c.task.n, l.weight) })
		}
	}
}

// aside does what takes long without the lock.
func (e *Engine) aside(c *Call, bytes int, do func()) {
	if bytes <= 4096 {
		do()
		return
	}
	c.refs++
	e.mu.Unlock()
	do()
	e.mu.Lock()
	c.refs--
}

// dst is the place of an action's elements in the destination.
func (c *Call) dst(in *instr) []byte {
	if in.lo == in.hi {
		return nil
	}
	return c.req.Dst.at(in.lo-c.dstBase, in.hi-c.dstBase)
}

// holds reports whether an action's elements have a place in the destination.
func (c *Call) holds(in *instr) bool {
	return in.lo >= c.dstBase && in.hi-c.dstBase <= c.req.Dst.n
}

// value is where the value of an action's elements lies.
func (c *Call) value(l *lane, in *instr) []byte {
	switch size := c.task.size; {
	case in.lo == in.hi:
		return nil
	case l.acc != nil:
		return l.acc.bytes[(in.lo-l.accLo)*size : (in.hi-l.accLo)*size]
	case l.inDst:
		return c.dst(in)
	}
	return c.req.Src.at(in.lo-c.srcBase, in.hi-c.srcBase)
}

// inDst notes that the value is in the destination.
func (e *Engine) inDst(l *lane) {
	e.pool.put(l.acc)
	l.acc, l.inDst = nil, true
}

// weigh multiplies the source with its weight, where that is due. span is the lane's whole range.
func (e *Engine) weigh(c *Call, l *lane) {
	if c.req.Op != WeightedMean || l.absent || l.acc != nil || l.inDst {
		return
	}
	span := l.span()
	b := e.pool.get((span.hi - span.lo) * c.task.size)
	e.aside(c, len(b.bytes), func() {
		arithmetics[c.typ()].weigh(b.bytes, c.value(l, &span), c.req.Weight)
	})
	l.acc, l.accLo = b, span.lo
}

// span is the whole range of a lane.
func (l *lane) span() instr {
	s := l.code[0]
	for _, in := range l.code[1:] {
		s.lo, s.hi = min(s.lo, in.lo), max(s.hi, in.hi)
	}
	return s
}

// pass sends the lane's value to the peer.
func (e *Engine) pass(c *Call, l *lane, in *instr) {
	e.weigh(c, l)
	if c.result != pending {
		return
	}
	p := parcel{h: c.header(l.number, in.nth), call: c, fresh: !l.received}
	if c.req.Op == WeightedMean {
		p.h.Aux = l.weight
	}
	if l.absent {
		p.h.Flags |= wireAbsent
	} else {
		p.body = c.value(l, in)
		switch {
		case l.acc != nil:
			l.acc.refs++
			p.block = l.acc
		case len(p.body) > 0 && len(p.body) <= 4096: // so that the buffers are free at once
			p.block = e.pool.get(len(p.body))
			copy(p.block.bytes, p.body)
			p.body = p.block.bytes
		}
	}
	e.post(c, in.peer, p)
}

// merge combines the lane's value with the peer's, in the peer's block.
func (e *Engine) merge(c *Call, l *lane, in *instr, m message) {
	e.weigh(c, l)
	l.weight += m.weight
	switch {
	case m.absent:
		e.pool.put(m.block)
		return
	case m.block == nil: // no elements
	case !l.absent:
		e.combine(c, l, in, m.block.bytes, m.block.bytes)
	}
	l.absent = false
	if m.block != nil {
		e.pool.put(l.acc)
		l.acc, l.accLo = m.block, in.lo
	}
}

// settleIn combines the lane's value with the peer's, in the destination.
func (e *Engine) settleIn(c *Call, l *lane, in *instr, m message) {
	e.weigh(c, l)
	l.weight += m.weight
	dst := c.dst(in)
	switch {
	case m.absent && l.absent:
		clear(dst)
	case m.absent:
		if v := c.value(l, in); !l.inDst && len(v) > 0 {
			e.aside(c, len(v), func() { copy(dst, v) })
		}
	case m.block == nil: // no elements
	case l.absent:
		e.aside(c, len(dst), func() { copy(dst, m.block.bytes) })
	default:
		e.combine(c, l, in, dst, m.block.bytes)
	}
	l.absent = l.absent && m.absent
	e.pool.put(m.block)
	e.inDst(l)
}

// combine does dst = value op theirs; no operation depends on which of the two comes first.
func (e *Engine) combine(c *Call, l *lane, in *instr, dst, theirs []byte) {
	own := c.value(l, in)
	e.aside(c, len(dst), func() { combine(c.typ(), c.req.Op, dst, own, theirs) })
}

// store puts the lane's value into the destination.
func (e *Engine) store(c *Call, l *lane, in *instr) {
	if l.inDst {
		return
	}
	e.weigh(c, l)
	dst, v := c.dst(in), c.value(l, in)
	if l.absent {
		clear(dst)
	} else if _, same := overlap(dst, v); !same && len(dst) > 0 {
		e.aside(c, len(dst), func() { copy(dst, v) })
	}
	e.inDst(l)
}

// arrived checks a message against what its lane still expects.
func (c *Call) arrived(l *lane, m message) error {
	next := l.pc
	if l.busy {
		next++ // what that waited for is taken
	}
	for i := next; i < len(l.code); i++ {
		in := &l.code[i]
		if !in.receives() || in.peer != m.from || in.nth != m.nth {
			continue
		}
		want := (in.hi - in.lo) * c.task.size
		if m.absent {
			want = 0
		}
		if m.length != want || m.absent && c.req.Op != WeightedMean {
			return fmt.Errorf("collective %q: rank %d sent %d bytes for lane %d, not %d", c.req.Name, m.from, m.length, l.number, want)
		}
		for _, w := range l.inbox {
			if w.from == m.from && w.nth == m.nth {
				return fmt.Errorf("collective %q: rank %d sent the same for lane %d again", c.req.Name, m.from, l.number)
			}
		}
		return nil
	}
	return fmt.Errorf("collective %q: rank %d sent more for lane %d than is expected", c.req.Name, m.from, l.number)
}
