package collective

import "millrace.dev/fabric"

// Sender queues a frame for a member; see fabric.Conn.
type Sender func(to int, p fabric.Priority, h fabric.Header, body []byte, done func(error))

// flyingBytes is how much of an outbox the fabric has at a time: enough that the link is never idle between
// two frames, little enough that a frame others wait for soon follows those before it.
const flyingBytes = 1 << 20

// parcel is a bulk frame on its way to a member.
type parcel struct {
	h     fabric.Header
	body  []byte
	block *block // where the body lies, if it is pooled
	call  *Call  // whose it is, if it is one's
	fresh bool   // it starts something new
}

// outbox is the queue of bulk frames for one member. What others wait for goes before what starts something
// new: a ring that is full finishes before it takes more. Its owner's lock guards it.
type outbox struct {
	to             int
	send           Sender
	forward, fresh fifo[parcel]
	flying         fifo[parcel] // what the fabric has
	bytes, limit   int          // flying, and at most before more go
	sent           func(error)
	gate           func(*parcel) bool // whether a frame may go now; nil for always
}

func (o *outbox) push(p parcel) {
	if p.fresh {
		o.fresh.push(p)
	} else {
		o.forward.push(p)
	}
}

// pump hands frames to the fabric.
func (o *outbox) pump() {
	for o.bytes < o.limit {
		q := &o.forward
		if q.len() == 0 {
			q = &o.fresh
		}
		if q.len() == 0 {
			return
		}
		if o.gate != nil && !o.gate(q.at(0)) {
			return
		}
		p := *q.at(0)
		q.pop()
		o.bytes += len(p.body) + fabric.HeaderSize
		o.flying.push(p)
		o.send(o.to, fabric.Bulk, p.h, p.body, o.sent)
	}
}

// empty reports whether no frame is on its way.
func (o *outbox) empty() bool { return o.forward.len()+o.fresh.len()+o.flying.len() == 0 }

// landed notes that the fabric is done with the oldest frame, and returns it.
func (o *outbox) landed() parcel {
	p := *o.flying.at(0)
	o.flying.pop()
	o.bytes -= len(p.body) + fabric.HeaderSize
	return p
}

// drop takes out frames that the fabric does not have yet.
func (o *outbox) drop(which func(*parcel) bool) {
	for _, q := range []*fifo[parcel]{&o.forward, &o.fresh} {
		for range q.len() {
			p := *q.at(0)
			q.pop()
			if !which(&p) {
				q.push(p)
			}
		}
	}
}

// fifo is a queue in a ring of slots.
type fifo[T any] struct {
	slots []T
	first int
	n     int
}

func (q *fifo[T]) len() int { return q.n }

func (q *fifo[T]) at(i int) *T { return &q.slots[(q.first+i)%len(q.slots)] }

func (q *fifo[T]) push(v T) {
	if q.n == len(q.slots) {
		grown := make([]T, max(8, 2*q.n))
		for i := range q.n {
			grown[i] = *q.at(i)
		}
		q.slots, q.first = grown, 0
	}
	q.n++
	*q.at(q.n - 1) = v
}

func (q *fifo[T]) pop() {
	var zero T
	*q.at(0) = zero
	q.first = (q.first + 1) % len(q.slots)
	q.n--
}
