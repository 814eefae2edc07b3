package collective

import (
	"fmt"
	"slices"

	"millrace.dev/fabric"
)

// Body says where the body of a frame goes: into the destination, if it is a result that is expected there next, else
// into a pooled block.
func (e *Engine) Body(from int, h fabric.Header) ([]byte, error) {
	e.mu.Lock()
	defer e.unlock()
	p := &e.peers[from]
	switch {
	case h.Epoch != e.cfg.Epoch: // to be dropped
		return make([]byte, h.Length), nil
	case h.Type == frameAbort && h.Length <= maxText:
		return make([]byte, h.Length), nil
	case h.Type != frameData || h.Length > sliceBytes:
		return nil, fmt.Errorf("collective: rank %d sent a frame of type %#x with %d bytes", from, h.Type, h.Length)
	}
	if c := e.callOf(h); c != nil && c.id == identityOf(h) && laneOf(h) < len(c.lanes) {
		if dst := c.inPlace(&c.lanes[laneOf(h)], from, h); dst != nil {
			p.granted = c
			c.refs++
			return dst, nil
		}
	}
	p.block = e.pool.get(int(h.Length))
	return p.block.bytes, nil
}

// inPlace is where in the destination a frame can be received, nil if it cannot.
func (c *Call) inPlace(l *lane, from int, h fabric.Header) []byte {
	if l.busy || l.pc >= len(l.code) || h.Flags&wireAbsent != 0 {
		return nil
	}
	in := &l.code[l.pc]
	if in.do != accept || in.peer != from || in.nth != nthOf(h) || (in.hi-in.lo)*c.task.size != int(h.Length) {
		return nil
	}
	return c.dst(in)
}

// callOf finds the call under way that a frame belongs to.
func (e *Engine) callOf(h fabric.Header) *Call {
	if e.err != nil || h.Epoch != e.cfg.Epoch {
		return nil
	}
	if n := e.names[h.Bucket]; n != nil {
		return n.call(seqOf(h))
	}
	return nil
}

// received takes back what a member's frame was received into.
func (e *Engine) received(p *peer) (b *block, inPlace *Call) {
	b, inPlace = p.block, p.granted
	p.block, p.granted = nil, nil
	if inPlace != nil {
		inPlace.refs--
	}
	return b, inPlace
}

// Frame takes a frame.
func (e *Engine) Frame(from int, h fabric.Header, body []byte) error {
	e.mu.Lock()
	defer e.unlock()
	b, inPlace := e.received(&e.peers[from])
	if inPlace != nil && inPlace.result != pending {
		e.conclude(inPlace)
		return nil
	}
	if e.err != nil || h.Epoch != e.cfg.Epoch {
		e.pool.put(b)
		return nil
	}
	if h.Type == frameTurn {
		return e.takeTurn(from, h)
	}
	seq, n := seqOf(h), e.entryOf(h.Bucket)
	if n == nil {
		e.pool.put(b)
		return fmt.Errorf("collective: rank %d uses more than %d names", from, MaxNames)
	}
	c := n.call(seq)
	switch {
	case c != nil:
		return e.underWay(c, from, h, body, b)
	case int32(seq-n.next) < 0: // it is over here
		e.pool.put(b)
		if h.Type == frameAsk {
			e.answer(n.hash, seq, from)
		}
		return nil
	}
	return e.keep(n, seq, from, h, body, b)
}

// underWay takes a frame of a call under way.
func (e *Engine) underWay(c *Call, from int, h fabric.Header, body []byte, b *block) error {
	switch h.Type {
	case frameAbort:
		e.fail(c, failureOf(c.req.Name, h, body))
		return nil
	case frameGo:
		e.open(c, from)
		return nil
	case frameData, frameAsk, frameProbe:
	default:
		return fmt.Errorf("collective: rank %d sent a frame of unknown type %#x", from, h.Type)
	}
	if id := identityOf(h); id != c.id {
		e.pool.put(b)
		e.failAll(c, &Error{Name: c.req.Name, Rank: from, Err: ErrMismatch,
			Text: fmt.Sprintf("rank %d calls %v; rank %d calls %v", from, id, e.cfg.Rank, c.id)})
		return nil
	}
	e.open(c, from)
	if h.Type == frameAsk {
		e.answer(c.entry.hash, c.seq, from)
	}
	if h.Type == frameData {
		return e.deliver(c, from, h, b)
	}
	return nil
}

// deliver hands a slice to its lane.
func (e *Engine) deliver(c *Call, from int, h fabric.Header, b *block) error {
	if c.result != pending {
		e.pool.put(b)
		return nil
	}
	if id := identityOf(h); id != c.id { // of a frame that came early
		return e.underWay(c, from, h, nil, b)
	}
	e.open(c, from)
	m := message{from: from, nth: nthOf(h), length: int(h.Length), block: b, absent: h.Flags&wireAbsent != 0}
	if c.req.Op == WeightedMean {
		m.weight = h.Aux
	}
	var err error
	if laneOf(h) >= len(c.lanes) {
		err = fmt.Errorf("collective %q: rank %d sent lane %d of %d", c.req.Name, from, laneOf(h), len(c.lanes))
	} else {
		err = c.arrived(&c.lanes[laneOf(h)], m)
	}
	if err != nil {
		e.pool.put(b)
		return err
	}
	l := &c.lanes[laneOf(h)]
	l.inbox = append(l.inbox, m)
	e.run(c, l)
	e.conclude(c)
	return nil
}

// earlyCost is what a frame that comes early counts.
func earlyCost(h fabric.Header) int { return int(h.Length) + fabric.HeaderSize }

// keep takes a frame of a call that has not started here.
func (e *Engine) keep(n *entry, seq uint32, from int, h fabric.Header, body []byte, b *block) error {
	x := n.early[seq]
	if x == nil {
		if e.early >= MaxNames {
			e.pool.put(b)
			return fmt.Errorf("collective: rank %d has started one call too many: %d have not been started by rank %d", from, MaxNames, e.cfg.Rank)
		}
		x = &early{}
	}
	switch h.Type {
	case frameData:
		if x.err != nil { // it will fail at once
			e.pool.put(b)
			return nil
		}
		p := &e.peers[from]
		if p.early+earlyCost(h) > EarlyBytes {
			e.pool.put(b)
			return fmt.Errorf("collective: rank %d sent more than %d bytes of calls that rank %d has not started", from, EarlyBytes, e.cfg.Rank)
		}
		p.early += earlyCost(h)
		x.frames = append(x.frames, earlyFrame{from, h, b})
	case frameAsk:
		if !slices.Contains(x.asks, from) {
			x.asks = append(x.asks, from)
		}
	case frameAbort:
		x.err = failureOf(n.name, h, body)
		e.forget(x)
	default:
		return nil
	}
	if n.early == nil {
		n.early = map[uint32]*early{}
	}
	if n.early[seq] == nil {
		n.early[seq] = x
		e.early++
	}
	return nil
}

// answer tells a member that a call has started here.
func (e *Engine) answer(hash, seq uint32, to int) {
	h := fabric.Header{Type: frameGo, Epoch: e.cfg.Epoch, Step: uint64(seq) << 32, Bucket: hash}
	e.cfg.Send(to, fabric.Control, h, nil, nil)
}

// open notes that a member has started a call: it may be sent everything.
func (e *Engine) open(c *Call, to int) {
	edge := &c.edges[to]
	if edge.open || c.result != pending {
		return
	}
	edge.open = true
	e.peers[to].risk -= edge.risk
	edge.risk = 0
	e.release(to, edge)
}

// release sends what was held back.
func (e *Engine) release(to int, edge *edge) {
	o := &e.peers[to].out
	for i := range edge.held {
		o.push(edge.held[i])
		edge.held[i] = parcel{}
	}
	edge.held = edge.held[:0]
	o.pump()
}

// post sends a slice, or holds it back until the member has started the call.
func (e *Engine) post(c *Call, to int, p parcel) {
	if p.block == nil && len(p.body) > 0 {
		c.refs++
	}
	if p.fresh {
		c.fresh++
	}
	edge, peer := &c.edges[to], &e.peers[to]
	if !edge.open {
		cost := len(p.body) + fabric.HeaderSize
		if peer.risk+cost > EarlyBytes || len(edge.held) > 0 {
			edge.held = append(edge.held, p)
			if !edge.asked {
				edge.asked = true
				e.cfg.Send(to, fabric.Control, c.id.header(frameAsk, e.cfg.Epoch, c.entry.hash, c.seq), nil, nil)
			}
			return
		}
		peer.risk += cost
		edge.risk += cost
	}
	peer.out.push(p)
	peer.out.pump()
}
