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
	owner *Call // whose buffer body is, nil for none that counts
}

// outbox is the queue of bulk frames for one member. What others wait for (forward) goes before what starts
// something new (fresh): a ring that is full finishes before it takes more. Its owner's lock guards it.
type outbox struct {
	to             int
	send           Sender
	forward, fresh fifo[parcel]
	flying         fifo[flight]
	bytes          int // flying
	sent           func(error)
	gate           func(bytes int) bool // whether a frame of this size may go now; nil for always
}

// flight is a frame that the fabric has.
type flight struct {
	bytes int
	owner *Call
}

func (o *outbox) push(p parcel, fresh bool) {
	if fresh {
		o.fresh.push(p)
	} else {
		o.forward.push(p)
	}
}

// pump hands frames to the fabric.
func (o *outbox) pump() {
	for o.bytes < flyingBytes {
		q := &o.forward
		if q.len() == 0 {
			q = &o.fresh
		}
		if q.len() == 0 {
			return
		}
		p := q.head()
		if o.gate != nil && !o.gate(len(p.body)) {
			return
		}
		size := len(p.body) + fabric.HeaderSize
		o.bytes += size
		o.flying.push(flight{size, p.owner})
		o.send(o.to, fabric.Bulk, p.h, p.body, o.sent)
		q.pop()
	}
}

// landed notes that the fabric is done with the oldest frame, and says whose it was.
func (o *outbox) landed() *Call {
	f := *o.flying.head()
	o.flying.pop()
	o.bytes -= f.bytes
	return f.owner
}

// clear forgets what the fabric does not have yet.
func (o *outbox) clear() {
	o.forward.clear()
	o.fresh.clear()
}

// fifo is a queue in a ring of slots.
type fifo[T any] struct {
	slots []T
	first int
	n     int
}

func (q *fifo[T]) len() int { return q.n }

func (q *fifo[T]) head() *T { return &q.slots[q.first] }

func (q *fifo[T]) push(v T) {
	if q.n == len(q.slots) {
		grown := make([]T, max(8, 2*q.n))
		for i := range q.n {
			grown[i] = q.slots[(q.first+i)%q.n]
		}
		q.slots, q.first = grown, 0
	}
	q.slots[(q.first+q.n)%len(q.slots)] = v
	q.n++
}

func (q *fifo[T]) pop() {
	var zero T
	q.slots[q.first] = zero
	q.first = (q.first + 1) % len(q.slots)
	q.n--
}

func (q *fifo[T]) clear() {
	for q.n > 0 {
		q.pop()
	}
}
