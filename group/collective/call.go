package collective

import (
	"context"
	"fmt"
	"slices"
	"time"

	"millrace.dev/fabric"
)

// state is how far a call is.
type state uint8

const (
	pending state = iota
	known         // the result is; buffers may be in use
	freed         // buffers are not in use any more
)

// Call is an operation under way.
type Call struct {
	e      *Engine
	entry  *entry
	req    Request
	seq    uint32
	id     identity
	task   task
	choice Choice

	srcBase, dstBase int // the elements that Src and Dst begin with

	lanes  []lane
	edges  []edge
	left   int    // lanes that are not complete, and what is done in shared memory
	turned bool   // that has had its turn
	next   int    // the lane to start next
	fresh  int    // frames on their way that start something new
	total  uint64 // weight of all, once a weighted mean is complete
	refs   int    // uses of Src and Dst by frames on their way and sums being made

	result  state
	said    state // what has been told
	err     error
	started time.Time
	probed  bool
	done    chan struct{}
	freed   chan struct{}
}

// edge is the state of a call towards another member.
type edge struct {
	open  bool // it has started the call
	asked bool
	risk  int // bytes sent to it while not open
	held  []parcel
}

// maxFresh is how many frames that start something new a call has on their way.
const maxFresh = 4

// prepare makes a call of a request, or says what is wrong with it.
func (e *Engine) prepare(n *entry, seq uint32, r Request) (*Call, *Error) {
	c := &Call{e: e, entry: n, req: r, seq: seq, done: make(chan struct{}), freed: make(chan struct{}), started: e.cfg.Clock.Now()}
	wrong := c.check()
	if r = c.req; wrong != "" {
		return nil, &Error{Name: r.Name, Rank: e.cfg.Rank, Err: ErrInvalid, Text: fmt.Sprintf("rank %d: %s", e.cfg.Rank, wrong)}
	}
	t := &c.task
	t.kind, t.algorithm, t.n, t.rank, t.root = r.Kind, r.Algorithm, e.cfg.Size, e.cfg.Rank, r.Root
	t.size, t.slice = max(1, c.typ().Size()), e.slice
	c.choice = Choose(r.Kind, t.n, t.count*t.size, e.model, e.shareable(r.Op))
	if t.algorithm == Auto {
		t.algorithm = c.choice.Algorithm
	}
	if t.algorithm == Ring && r.Kind == AllReduce && t.count == 0 {
		t.algorithm = Star // a ring of nothing would not wait for anybody
	}
	c.choice.Algorithm = t.algorithm
	c.id = identity{kind: r.Kind, typ: c.typ(), op: r.Op, algorithm: t.algorithm, count: uint32(t.count), root: uint64(r.Root)}

	if n.program == nil || n.task != *t {
		n.task, n.program = *t, compile(*t)
		n.spare, n.edges = nil, nil
	}
	c.lanes, c.edges = n.spare, n.edges
	n.spare, n.edges = nil, nil
	if c.lanes == nil {
		c.lanes, c.edges = make([]lane, len(n.program.lanes)), make([]edge, t.n)
	}
	for i := range c.lanes {
		c.lanes[i].reset(n.program.lanes[i], i, r)
	}
	for i := range c.edges {
		c.edges[i] = edge{held: c.edges[i].held[:0]}
	}
	if c.left = len(c.lanes); t.algorithm == Shared {
		c.left++
	}
	return c, nil
}

// typ is the type of the elements, 0 for a barrier.
func (c *Call) typ() Type { return c.req.Dst.typ }

// check completes a request and says what is wrong with it.
func (c *Call) check() string {
	r, t, n, rank := &c.req, &c.task, c.e.cfg.Size, c.e.cfg.Rank
	if r.Kind < AllReduce || r.Kind > Barrier {
		return fmt.Sprintf("there is no operation %v", r.Kind)
	}
	if r.Algorithm != Auto && !r.Algorithm.Can(r.Kind) {
		return fmt.Sprintf("%v cannot do %v", r.Algorithm, r.Kind)
	}
	if r.Algorithm == Shared && !c.e.shareable(r.Op) {
		return fmt.Sprintf("no memory is shared for %v, %v", r.Kind, r.Op)
	}
	if r.Kind == Barrier {
		r.Dst, r.Src, r.Op, r.Weight, r.Root = Buffer{}, Buffer{}, 0, 0, 0
		return ""
	}
	if r.Dst.typ == 0 {
		return "no destination"
	}
	if r.Kind == AllReduce || r.Kind == ReduceScatter {
		if r.Op < Sum || r.Op > WeightedMean {
			return fmt.Sprintf("there is no reduction %v", r.Op)
		}
		if r.Op == WeightedMean && !r.Dst.typ.float() {
			return fmt.Sprintf("a weighted mean of %v", r.Dst.typ)
		}
	} else {
		r.Op = 0
	}
	if r.Kind != Broadcast {
		r.Root = 0
	} else if r.Root < 0 || r.Root >= n {
		return fmt.Sprintf("the root is rank %d of %d", r.Root, n)
	}
	if wrong := c.place(n, rank); wrong != "" {
		return wrong
	}
	whole := t.count
	if r.Kind == AllGather {
		whole = r.Dst.n
	}
	if t.count > maxCount || whole*r.Dst.typ.Size()/c.e.slice > maxLanes-2*n {
		return fmt.Sprintf("%d elements are too many", t.count)
	}
	return ""
}

// place finds where Src and Dst lie in the whole, and says what is wrong with them.
func (c *Call) place(n, rank int) string {
	r, t := &c.req, &c.task
	t.count = r.Dst.n
	want, base := r.Dst.n, 0 // of Src, where it may overlap Dst
	switch r.Kind {
	case AllGather:
		if r.Dst.n%n != 0 {
			return fmt.Sprintf("a destination of %d elements for %d members", r.Dst.n, n)
		}
		t.count = r.Dst.n / n
		want, base = t.count, rank*t.count
		c.srcBase = base
		if r.Src.typ == 0 {
			r.Src = r.Dst.slice(base, base+want)
		}
	case ReduceScatter:
		if r.Src.typ == 0 {
			return "no source"
		}
		t.count, want = r.Src.n, r.Src.n
		lo, hi := Part(t.count, n, rank)
		if r.Dst.n != hi-lo {
			return fmt.Sprintf("a destination of %d elements for part %d of %d in %d parts", r.Dst.n, rank, t.count, n)
		}
		c.dstBase = lo
		if o, _ := overlap(r.Src.bytes, r.Dst.bytes); o && r.Src.typ == r.Dst.typ {
			if _, same := overlap(r.Src.at(lo, hi), r.Dst.bytes); !same {
				return "source and destination overlap"
			}
		}
	default:
		if r.Src.typ == 0 || r.Kind == Broadcast {
			r.Src = r.Dst
		}
	}
	if r.Src.typ != r.Dst.typ || r.Src.n != want {
		return fmt.Sprintf("a source of %d × %v for a destination of %d × %v", r.Src.n, r.Src.typ, r.Dst.n, r.Dst.typ)
	}
	if r.Kind == AllReduce || r.Kind == AllGather {
		if o, _ := overlap(r.Src.bytes, r.Dst.bytes); o {
			if _, same := overlap(r.Src.bytes, r.Dst.at(base, base+want)); !same {
				return "source and destination overlap"
			}
		}
	}
	return ""
}

// conclude finds out whether a call is over.
func (e *Engine) conclude(c *Call) {
	if c.refs > 0 || c.result == freed || c.result == pending && c.left > 0 {
		return
	}
	if c.result == pending {
		e.end(c)
		for to := range c.edges { // everybody has started what is complete
			e.peers[to].risk -= c.edges[to].risk
			c.edges[to].risk = 0
			e.release(to, &c.edges[to])
		}
		c.entry.spare, c.entry.edges = c.lanes, c.edges
		c.lanes, c.edges = nil, nil
	}
	c.result = freed
	e.over = append(e.over, c)
}

// end takes a call out of those under way.
func (e *Engine) end(c *Call) {
	n := c.entry
	n.active = slices.DeleteFunc(n.active, func(a *Call) bool { return a == c })
	e.active--
}

// fail ends a call with an error.
func (e *Engine) fail(c *Call, err error) {
	if c.result != pending {
		return
	}
	c.result, c.err = known, err
	e.over = append(e.over, c)
	e.end(c)
	for to := range c.edges {
		p := &e.peers[to]
		p.risk -= c.edges[to].risk
		c.edges[to].risk = 0
		held := c.edges[to].held
		c.edges[to].held = nil
		for i := range held {
			e.dropped(&held[i])
		}
		var out []parcel
		p.out.drop(func(x *parcel) bool {
			if x.call == c {
				out = append(out, *x)
			}
			return x.call == c
		})
		for i := range out {
			e.dropped(&out[i])
		}
	}
	for i := range c.lanes {
		if l := &c.lanes[i]; !l.busy {
			l.drop(&e.pool)
		}
	}
	e.conclude(c)
}

// failAll fails a call on all members.
func (e *Engine) failAll(c *Call, err *Error) {
	if c.result == pending {
		e.abort(c.entry, c.seq, err)
		e.fail(c, err)
	}
}

// tell makes known what has become of a call.
func (c *Call) tell() {
	c.e.mu.Lock()
	result, said := c.result, c.said
	c.said = result
	c.e.mu.Unlock()
	if said < known && result >= known {
		close(c.done)
		if c.req.Done != nil {
			c.req.Done(c.err)
		}
	}
	if said < freed && result == freed {
		close(c.freed)
		if c.req.released != nil {
			c.req.released(c)
		}
	}
}

// Done is closed when the result is known, and Err says what it is.
func (c *Call) Done() <-chan struct{} { return c.done }

// Released is closed when the buffers may be touched again: with Done when the call succeeded. After a failure
// that may take until a frame on its way has passed, or its connection has closed.
func (c *Call) Released() <-chan struct{} { return c.freed }

// Err returns why the call failed, nil if it succeeded or is under way.
func (c *Call) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Wait waits until the result is known. If ctx ends first, it gives the call up, for all members.
func (c *Call) Wait(ctx context.Context) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		c.Cancel(ctx.Err())
		<-c.done
	}
	return c.err
}

// Cancel gives the call up, here at once, and tells the others, which fail too. It does nothing when the result is
// known.
func (c *Call) Cancel(reason error) {
	e := c.e
	e.mu.Lock()
	defer e.unlock()
	e.failAll(c, &Error{Name: c.req.Name, Rank: e.cfg.Rank, Err: ErrCancelled,
		Text: fmt.Sprintf("rank %d gave it up: %v", e.cfg.Rank, reason)})
}

// Choice says which algorithm is used and why.
func (c *Call) Choice() Choice { return c.choice }

// Waiting says what a call waits for, in words, and the ranks that have not delivered.
func (c *Call) Waiting() (ranks []int, what string) {
	e := c.e
	e.mu.Lock()
	defer e.unlock()
	if c.result != pending {
		return nil, "nothing"
	}
	for i := range c.lanes {
		if l := &c.lanes[i]; l.pc < len(l.code) && !l.busy {
			if in := &l.code[l.pc]; in.receives() && !slices.Contains(ranks, in.peer) {
				ranks = append(ranks, in.peer)
			}
		}
	}
	slices.Sort(ranks)
	switch {
	case c.task.algorithm != Shared:
	case len(ranks) > 0:
		return ranks, fmt.Sprintf("%s %q: waiting for ranks %v to start it", c.id.kind, c.req.Name, ranks)
	default:
		return nil, fmt.Sprintf("%s %q: waiting for its turn in shared memory, or the others' parts", c.id.kind, c.req.Name)
	}
	return ranks, fmt.Sprintf("%s %q: %d of %d parts are complete; waiting for ranks %v", c.id.kind, c.req.Name,
		len(c.lanes)-c.left, len(c.lanes), ranks)
}

// slice is a part of a buffer.
func (b Buffer) slice(lo, hi int) Buffer { return Buffer{b.typ, hi - lo, b.at(lo, hi)} }

// header is that of the nth frame of a lane to a member.
func (c *Call) header(lane, nth int) fabric.Header {
	h := c.id.header(frameData, c.e.cfg.Epoch, c.entry.hash, c.seq)
	h.Chunk |= uint32(lane) | uint32(nth)<<(laneBits+10)
	return h
}
