package sim

// event is something that happens at a node or, for visits, at a stop.
type event struct {
	at    int64  // nanoseconds since the start of the round
	order uint32 // breaks ties: events made earlier come first
	kind  kind
	index int32 // node or visit
}

type kind uint8

const (
	evMake   kind = iota // a sensor makes a packet
	evSent               // a transmission to another node ends
	evReady              // a node may transmit again
	evArrive             // a vehicle arrives at a stop
	evUpload             // a transmission to a vehicle ends
)

// schedule is a binary heap of events.
type schedule struct {
	heap []event
	made uint32
}

func before(a, b *event) bool { return a.at < b.at || a.at == b.at && a.order < b.order }

func (s *schedule) add(at int64, k kind, index int32) {
	s.heap = append(s.heap, event{at, s.made, k, index})
	s.made++
	h := s.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !before(&h[i], &h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// take removes the earliest event; there must be one.
func (s *schedule) take() event {
	h := s.heap
	first, last := h[0], len(h)-1
	h[0] = h[last]
	s.heap = h[:last]
	h = s.heap
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return first
		}
		if down+1 < last && before(&h[down+1], &h[down]) {
			down++
		}
		if !before(&h[down], &h[i]) {
			return first
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

// packet is what a sensor made.
type packet struct {
	made  int64 // nanoseconds since the start of its round
	round int32
}

// buffer is a queue of packets in a ring that grows up to a bound.
type buffer struct {
	ring       []packet
	head, size int
}

func (b *buffer) push(p packet) {
	if b.size == len(b.ring) {
		grown := make([]packet, max(4, 2*len(b.ring)))
		for i := range b.size {
			grown[i] = b.ring[(b.head+i)%len(b.ring)]
		}
		b.ring, b.head = grown, 0
	}
	b.ring[(b.head+b.size)%len(b.ring)] = p
	b.size++
}

func (b *buffer) pop() packet {
	p := b.ring[b.head]
	b.head = (b.head + 1) % len(b.ring)
	b.size--
	return p
}
