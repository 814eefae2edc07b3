package lbd

import (
	"millrace.dev/field/lbd/node"
)

// event is something that happens at a station.
type event struct {
	kind    uint8
	station int32
	frame   int32 // of evHear and evTimeout
}

// Kinds of events.
const (
	evStart   = iota // a node is switched on
	evWake           // a timer is due
	evHear           // a frame arrives
	evTimeout        // an attempt is over
	evArrive         // the sink arrives at a node
)

// frame is a message on the air. It is free again when nobody refers to it.
type frame struct {
	bytes [node.MaxSize]byte
	size  int
	from  int32
	to    int32 // station, -1 for everybody
	try   int
	id    uint32
	acked bool
	users int
}

// Run lets the network work until a moment. The error is a *LoopError.
func (w *Network) Run(until Time) error {
	for w.events.Len() > 0 && w.events.First() <= until && w.loop == nil {
		at, e := w.events.Take()
		w.now = at
		w.handled++
		w.handle(e)
	}
	if w.loop != nil {
		return w.loop
	}
	w.now = until
	return nil
}

// RunUntil lets the network work until the condition holds, looked at every tick ticks, or the moment is reached.
func (w *Network) RunUntil(until, every Time, done func() bool) (bool, error) {
	for w.now < until {
		if done() {
			return true, nil
		}
		if err := w.Run(min(w.now+every, until)); err != nil {
			return false, err
		}
	}
	return done(), nil
}

func (w *Network) handle(e event) {
	s := &w.stations[e.station]
	switch e.kind {
	case evStart:
		if !s.dead {
			s.node.Start(w.now)
		}
	case evWake:
		if s.wake != w.now {
			return // another one was scheduled since
		}
		s.wake = 0
		switch {
		case s.dead:
		case s.node != nil:
			s.node.Wake(w.now)
		default:
			w.sink.Wake(w.now)
		}
	case evHear:
		w.hear(int(e.station), e.frame)
	case evTimeout:
		w.timeout(int(e.station), e.frame)
	case evArrive:
		w.arrive()
	}
	w.after(int(e.station))
}

// after collects what a station's program wants after it has run.
func (w *Network) after(i int) {
	s := &w.stations[i]
	if s.dead {
		return
	}
	next := Time(0)
	if s.node != nil {
		s.queue = append(s.queue, s.node.Outbox()...)
		next = s.node.NextWake()
		w.checkWay(i)
	} else {
		s.queue = append(s.queue, w.sink.Outbox()...)
		next = w.sink.NextWake()
		w.driveSink()
	}
	if next > 0 && next != s.wake {
		s.wake = max(next, w.now+1)
		w.events.Add(s.wake, event{kind: evWake, station: int32(i)})
	} else if next == 0 {
		s.wake = 0
	}
	if !s.busy && len(s.queue) > 0 {
		w.start(i)
	}
}

// checkWay follows the way of a node whose parent has changed.
func (w *Network) checkWay(i int) {
	s := &w.stations[i]
	parent := s.node.View().Parent
	if parent == s.parent {
		return
	}
	s.parent = parent
	at := i
	for range len(w.in.Sensors) {
		if w.stations[at].parent == node.Nobody {
			return
		}
		at = int(w.stations[at].parent)
	}
	loop := &LoopError{At: w.now}
	for begin := at; len(loop.Way) == 0 || at != begin; at = int(w.stations[at].parent) {
		loop.Way = append(loop.Way, w.in.Sensors[at].ID)
	}
	w.loop = loop
}

// start puts the next message of a station on the air.
func (w *Network) start(i int) {
	s := &w.stations[i]
	m := s.queue[0]
	copy(s.queue, s.queue[1:])
	s.queue = s.queue[:len(s.queue)-1]
	s.busy = true
	f := w.newFrame()
	fr := &w.frames[f]
	fr.size = copy(fr.bytes[:], m.Append(w.scratch[:0]))
	fr.from, fr.to, fr.try, fr.acked, fr.users = int32(i), -1, 0, false, 1
	w.number++
	fr.id = w.number
	switch m.To {
	case node.Nobody:
	case node.SinkID:
		fr.to = int32(len(w.in.Sensors))
	default:
		fr.to = int32(m.To)
	}
	w.attempt(f)
}

func (w *Network) newFrame() int32 {
	if n := len(w.free); n > 0 {
		f := w.free[n-1]
		w.free = w.free[:n-1]
		return f
	}
	w.frames = append(w.frames, frame{})
	return int32(len(w.frames) - 1)
}

func (w *Network) release(f int32) {
	if w.frames[f].users--; w.frames[f].users == 0 {
		w.free = append(w.free, f)
	}
}

// attempt sends a frame once.
func (w *Network) attempt(f int32) {
	fr := &w.frames[f]
	fr.try++
	w.count(int(fr.from), node.Kind(fr.bytes[0]))
	from := &w.stations[fr.from]
	for _, l := range from.links {
		if w.stations[l.to].dead || w.random.Float64() < l.loss {
			continue
		}
		fr.users++
		w.events.Add(w.now+w.delay(), event{kind: evHear, station: l.to, frame: f})
	}
	last := 2 * w.opt.Delay
	if fr.to < 0 {
		last = w.opt.Delay
	}
	w.events.Add(w.now+last, event{kind: evTimeout, station: fr.from, frame: f})
}

// delay is the time of a frame on the air.
func (w *Network) delay() Time { return 1 + Time(w.random.Int64N(int64(w.opt.Delay))) }

func (w *Network) count(from int, k node.Kind) {
	w.counts.Kinds[k]++
	switch {
	case k.Control():
		w.counts.Control++
		w.counts.byNode[from]++
	case k == node.Upload || k == node.Ack:
		w.counts.Data++
	default:
		w.counts.Guide++
	}
}

// hear delivers a frame unless it is a repetition of one that was heard, and sends the acknowledgement when it is for
// this station.
func (w *Network) hear(i int, f int32) {
	s, fr := &w.stations[i], &w.frames[f]
	l := s.linkTo(fr.from)
	if s.dead || l == nil { // gone since it was sent
		w.release(f)
		return
	}
	if fr.to == int32(i) && w.random.Float64() >= l.loss {
		fr.acked = true // its time is within that of the attempt
	}
	if l.seen != fr.id {
		l.seen = fr.id
		if m, err := node.Decode(fr.bytes[:fr.size]); err == nil {
			w.deliver(i, m)
		}
	}
	w.release(f)
}

func (w *Network) deliver(i int, m node.Message) {
	if s := &w.stations[i]; s.node != nil {
		s.node.Receive(w.now, m)
	} else {
		w.sink.Receive(w.now, m)
	}
}

func (s *station) linkTo(to int32) *link {
	for k := range s.links {
		if s.links[k].to == to {
			return &s.links[k]
		}
	}
	return nil
}

// timeout ends an attempt: it is repeated, or confirmed or given up and the next message's turn comes.
func (w *Network) timeout(i int, f int32) {
	s, fr := &w.stations[i], &w.frames[f]
	if s.dead {
		w.release(f)
		return
	}
	if fr.to >= 0 && !fr.acked && fr.try < tries {
		w.attempt(f)
		return
	}
	s.busy = false
	if fr.to >= 0 {
		if m, err := node.Decode(fr.bytes[:fr.size]); err == nil {
			if s.node != nil {
				s.node.Sent(w.now, m, fr.acked)
			} else {
				w.sink.Sent(w.now, m, fr.acked)
			}
		}
	}
	w.release(f)
}
