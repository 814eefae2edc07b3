package collective

import (
	"errors"
	"fmt"

	"millrace.dev/fabric"
	"millrace.dev/group/shm"
)

// Share lets calls use memory that the members share. All members, or none, call it before anything starts or
// comes. The memory is canceled with the engine; closing it is the caller's.
func (e *Engine) Share(m *shm.Comm) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memory = m
}

// shareable says whether a call can be done in shared memory, where there is some: that knows no weights.
func (e *Engine) shareable(op Op) bool { return e.memory != nil && op != WeightedMean }

// grant gives a call that all members have started its turn, which all of them learn, whatever becomes of the call: what is done
// in shared memory is the same, in the same order, on all.
func (e *Engine) grant(c *Call) {
	if err := e.exchange(c, e.turn+1); err != nil { // and the turn is the next call's
		e.failAll(c, &Error{Name: c.req.Name, Rank: e.cfg.Rank, Err: ErrCancelled, Text: fmt.Sprintf("no turn in shared memory: %v", err)})
		return
	}
	e.turn++
	h := c.id.header(frameTurn, e.cfg.Epoch, c.entry.hash, c.seq)
	h.Aux = e.turn
	for to := range e.peers {
		if to != e.cfg.Rank {
			e.cfg.Send(to, fabric.Control, h, nil, nil)
		}
	}
}

// takeTurn takes a frame of grant. A call that has failed here stands aside in its turn.
func (e *Engine) takeTurn(from int, h fabric.Header) error {
	id := identityOf(h)
	id.root = 0 // where the turn stands
	if from != 0 || e.memory == nil || id.algorithm != Shared || !Shared.Can(id.kind) || id.typ < Int8 || id.typ > Float64 {
		return fmt.Errorf("collective: rank %d gives turns to %v", from, id)
	}
	c := e.callOf(h)
	if c == nil || c.result != pending {
		x := id.exchange(e.cfg.Size)
		x.Aside, x.Done = true, func(error) {}
		return e.memory.Start(h.Aux, x)
	}
	if id.root = c.id.root; c.id != id || c.turned {
		return fmt.Errorf("collective %q: rank %d gives a turn to %v", c.req.Name, from, id)
	}
	return e.exchange(c, h.Aux)
}

// sharedKinds is how shared memory calls what can be done there.
var sharedKinds = [...]shm.Kind{AllReduce: shm.AllReduce, ReduceScatter: shm.ReduceScatter, AllGather: shm.AllGather, Broadcast: shm.Broadcast}

// exchange is what all members say of a call of n members.
func (id identity) exchange(n int) shm.Exchange {
	x := shm.Exchange{Kind: sharedKinds[id.kind], Size: id.typ.Size(), Bytes: int(id.count) * id.typ.Size(), Root: int(id.root)}
	if id.kind == AllGather {
		x.Bytes *= n
	}
	return x
}

// exchange does with a call's buffers what it is to do, in its turn.
func (e *Engine) exchange(c *Call, turn uint64) error {
	typ, op, n := c.typ(), c.req.Op, c.task.n
	x := c.id.exchange(n)
	x.Dst, x.Src = c.req.Dst.bytes, c.req.Src.bytes
	x.Combine = func(r, a, b []byte) { combine(typ, op, r, a, b) }
	if op == Mean {
		x.Finish = func(r []byte) { finish(typ, op, r, n, 0) }
	}
	x.Done = func(err error) { e.exchanged(c, err) }
	if err := e.memory.Start(turn, x); err != nil {
		return err
	}
	c.turned = true
	c.refs++
	return nil
}

// exchanged hears that shared memory is done with a call's buffers.
func (e *Engine) exchanged(c *Call, err error) {
	e.mu.Lock()
	defer e.unlock()
	c.refs--
	var aside *shm.AsideError
	switch {
	case errors.As(err, &aside): // perhaps of one that has only heard of it: whoever gave the call up tells all why
	case err != nil:
		e.fail(c, err)
	case c.result == pending:
		c.left--
	}
	e.conclude(c)
}
