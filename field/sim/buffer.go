package sim

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
