package fabric

import "millrace.dev/fabric/internal/flow"

const (
	inlineSize = 64 << 10  // a frame up to this is written by Send, header included
	batchSize  = 256 << 10 // a batch takes no more frames beyond this
	batchCount = 32        // nor more than these
)

// output is the sending half of a connection. Its fields are under the
// connection's mutex, except those of the batch, which belong to whoever set busy.
type output struct {
	nonce   uint32 // of the receiver
	n       uint64 // frames so far
	ready   bool   // the hello is over
	busy    bool   // somebody writes
	left    bool   // batch holds what Send could not write whole
	control queue
	bulk    queue
	// done functions of frames that Send wrote whole
	finished, calling []func(error)

	frames, bytes uint64 // sent

	batch []frame
	bufs  [][]byte
	heads [batchCount][HeaderSize]byte
	parts [2 * batchCount][]byte
	space [batchCount]frame
}

func (o *output) queued() int { return o.control.bytes + o.bulk.bytes }

// Send implements Conn.
func (c *conn) Send(p Priority, h Header, body []byte, done func(error)) {
	if len(body) > p.Limit() {
		c.refuse(&LimitError{Priority: p, Length: len(body)}, done)
		return
	}
	h.Length = uint32(len(body))
	c.send(frame{class: class(p), h: h, body: body, done: done})
}

// refuse closes the connection because of a frame that it cannot send.
func (c *conn) refuse(err error, done func(error)) {
	c.fail(err)
	if done != nil {
		go done(err)
	}
}

// send writes a small frame at once if nothing is ahead of it, else queues it.
func (c *conn) send(f frame) {
	c.mu.Lock()
	o := &c.out
	if c.closed {
		cause := c.cause
		c.mu.Unlock()
		if f.done != nil {
			go f.done(cause)
		}
		return
	}
	q, limit := &o.control, flow.MaxControlWait
	if f.class == classBulk {
		q, limit = &o.bulk, flow.MaxBulkWait
	}
	if q.bytes+f.size() > limit {
		c.mu.Unlock()
		c.refuse(ErrQueueFull, f.done)
		return
	}
	if o.busy || !o.ready || q.n > 0 || o.control.n > 0 || f.size() > inlineSize || !c.stream.inline() || !c.pay(&f) {
		q.push(f)
		if !o.busy {
			c.wake.Signal()
		}
		c.mu.Unlock()
		return
	}
	o.busy = true
	o.begin()
	o.add(f)
	c.mu.Unlock()
	n, err := c.stream.tryWrite(o.bufs)
	whole := n == f.size()
	if !whole {
		o.bufs = advance(o.bufs, n)
	}
	c.mu.Lock()
	if err != nil && !c.closed {
		c.failLocked(err)
	}
	if whole {
		o.busy = false
		o.space[0], o.parts[0], o.parts[1] = frame{}, nil, nil
		if f.done != nil {
			o.finished = append(o.finished, f.done)
		}
	}
	o.left = !whole
	if c.closed || o.left || f.done != nil || c.sendable() {
		c.wake.Signal()
	}
	c.mu.Unlock()
}

// sendable tells whether there is a frame that may be sent now.
func (c *conn) sendable() bool {
	o := &c.out
	return o.ready && (o.control.n > 0 || o.bulk.n > 0 && c.covers(o.bulk.peek()))
}

// begin empties the batch.
func (o *output) begin() {
	o.batch, o.bufs = o.space[:0], o.parts[:0]
}

// add puts a frame into the batch.
func (o *output) add(f frame) {
	head := o.heads[len(o.batch)][:]
	putHeader(head, f.class, &f.h, seal(o.nonce, o.n))
	o.n++
	o.frames++
	o.bytes += uint64(f.size())
	o.batch = append(o.batch, f)
	o.bufs = append(o.bufs, head)
	if len(f.body) > 0 {
		o.bufs = append(o.bufs, f.body)
	}
}

// fill takes frames from the queues into the batch: control first, then what
// bulk the credit covers.
func (c *conn) fill() {
	o := &c.out
	o.begin()
	for size := 0; len(o.batch) < batchCount && size < batchSize; {
		q := &o.control
		if q.n == 0 {
			if q = &o.bulk; q.n == 0 || !c.pay(q.peek()) {
				return
			}
		}
		f := q.pop()
		o.add(f)
		size += f.size()
	}
}

// write is the writer goroutine. When the connection has closed it fails what
// is still queued.
func (c *conn) write() {
	defer c.net.running.Done()
	defer close(c.ended)
	o := &c.out
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed {
		switch {
		case len(o.finished) > 0:
			c.callFinished()
		case o.left:
			c.flush()
		case !o.busy && c.sendable():
			o.busy = true
			c.fill()
			c.flush()
		default:
			c.wake.Wait()
		}
	}
	for o.busy && !o.left { // Send is writing
		c.wake.Wait()
	}
	c.drop()
}

// callFinished calls the done functions of frames that Send wrote.
func (c *conn) callFinished() {
	o := &c.out
	o.finished, o.calling = o.calling[:0], o.finished
	c.mu.Unlock()
	for i, done := range o.calling {
		done(nil)
		o.calling[i] = nil
	}
	c.mu.Lock()
}

// flush writes the batch, or what is left of it, and calls its done functions.
func (c *conn) flush() {
	o := &c.out
	c.mu.Unlock()
	err := c.stream.writeAll(o.bufs)
	if err != nil {
		c.fail(err)
	}
	c.finish(err)
	c.mu.Lock()
	o.busy, o.left = false, false
}

// finish calls the done functions of the batch and lets go of its bodies.
func (c *conn) finish(err error) {
	o := &c.out
	for i := range o.batch {
		if done := o.batch[i].done; done != nil {
			done(err)
		}
		o.batch[i] = frame{}
	}
	clear(o.parts[:])
}

// drop fails all that is queued on a closed connection.
func (c *conn) drop() {
	o := &c.out
	c.callFinished()
	if o.left {
		c.mu.Unlock()
		c.finish(c.cause)
		c.mu.Lock()
	}
	for _, q := range []*queue{&o.control, &o.bulk} {
		for q.n > 0 {
			f := q.pop()
			if f.done != nil {
				c.mu.Unlock()
				f.done(c.cause)
				c.mu.Lock()
			}
		}
		*q = queue{}
	}
}
