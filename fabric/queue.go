package fabric

// frame is one that waits to be sent.
type frame struct {
	class class
	h     Header
	body  []byte
	done  func(error)
}

// size returns what a frame takes on the wire, in bytes.
func (f *frame) size() int { return HeaderSize + len(f.body) }

// queue is a ring of frames that grows with need.
type queue struct {
	ring  []frame // its length is a power of two, or 0
	first int
	n     int
	bytes int
}

func (q *queue) push(f frame) {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = f
	q.n++
	q.bytes += f.size()
}

// peek returns the first frame of a queue that is not empty.
func (q *queue) peek() *frame { return &q.ring[q.first] }

func (q *queue) pop() frame {
	f := q.ring[q.first]
	q.ring[q.first] = frame{} // so that it keeps no body alive
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	q.bytes -= f.size()
	return f
}

func (q *queue) grow() {
	ring := make([]frame, max(8, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = q.ring[(q.first+i)&(len(q.ring)-1)]
	}
	q.ring, q.first = ring, 0
}
