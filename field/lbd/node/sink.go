package node

import "math"

// SinkConfig is what the sink sets out with.
type SinkConfig struct {
	Step Time    // longest time from a node to one in reach of it, with everything
	Rate float64 // packets received in a tick; 0 means that it takes no time
	Slot Time    // as in Config
}

// Sink is the mobile sink's side of the protocol. It walks by homing on nodes: Move names the next one, and
// Arrived tells that it is there.
type Sink struct {
	cfg     SinkConfig
	out     []Message
	way     []ID // stops from where it set out to where it is
	root    int  // place of the root on the way, -1 before it is found
	fresh   bool // the next place is visited for the first time
	calls   int  // SINK_BEACONs sent here
	due     Time // when the tour has to be over
	busy    Time // until when packets are under way
	move    ID   // where it wants to go, Nobody when it waits
	wake    Time
	asking  bool // NEXT_REQ was sent
	tries   int
	done    bool
	last    map[ID]uint32 // highest sequence number received
	Packets uint64        // received in this tour
	Stops   int           // visited in this tour, the root included
}

// NewSink is a sink at its start.
func NewSink(cfg SinkConfig) *Sink { return &Sink{cfg: cfg, last: map[ID]uint32{}, move: Nobody} }

// SetOut starts a tour at a node; it is over at the moment due, there.
func (s *Sink) SetOut(at ID, due Time) {
	s.way = append(s.way[:0], at)
	s.root, s.due, s.busy, s.done, s.Packets, s.Stops = -1, due, 0, false, 0, 0
	s.move, s.wake, s.asking, s.tries = at, 0, false, 0
}

// Done tells that the sink is back.
func (s *Sink) Done() bool { return s.done }

// Busy is the moment until which the sink receives packets: it drives on no earlier.
func (s *Sink) Busy() Time { return s.busy }

// latest is when the sink has to leave this place to be back in time.
func (s *Sink) latest() Time { return s.due - Time(len(s.way)-1)*s.cfg.Step }

// Move is the node to drive to, Nobody when the sink waits where it is.
func (s *Sink) Move() ID { return s.move }

// NextWake is when Wake wants to be called; 0 when never.
func (s *Sink) NextWake() Time { return s.wake }

// Outbox gives the messages to be sent since the last call. The slice is reused.
func (s *Sink) Outbox() []Message {
	out := s.out
	s.out = s.out[:0]
	return out
}

func (s *Sink) at() ID { return s.way[len(s.way)-1] }

// Arrived tells that the sink has reached the node that Move named.
func (s *Sink) Arrived(now Time) {
	s.move, s.tries = Nobody, 0
	switch {
	case s.root >= 0 && len(s.way)-1 < s.root || now >= s.latest():
		s.retreat() // on the way home, or late
	case s.root >= 0 && s.fresh:
		s.collect(now)
	default:
		s.ask()
	}
}

// ask asks for the next stop.
func (s *Sink) ask() {
	flags := uint16(0)
	if s.root < 0 {
		flags = flagUp
	}
	s.asking = true
	s.out = append(s.out, Message{Kind: NextReq, From: SinkID, To: s.at(), Flags: flags})
	s.wake = s.latest() // until the question has arrived
}

// collect calls for packets.
func (s *Sink) collect(now Time) {
	s.Stops++
	s.calls, s.asking, s.fresh = 0, false, false
	s.call(now)
}

// maxAsks bounds how often the sink asks a node that is there but does not answer because a wave is under way.
const maxAsks = 200

// maxCalls bounds how often the sink calls at a stop: some may have missed the first one.
const maxCalls = 3

func (s *Sink) call(now Time) {
	s.calls++
	s.out = append(s.out, Message{Kind: SinkBeacon, From: SinkID, To: Nobody, Peer: s.at()})
	s.pause(now)
}

// pause waits for messages, from when packets are through, but not too long for the way back.
func (s *Sink) pause(now Time) { s.wake = min(max(now, s.busy)+4*s.cfg.Slot, s.latest()) }

// Wake goes on when nothing was heard for a while.
func (s *Sink) Wake(now Time) {
	s.wake = 0
	switch {
	case now >= s.latest():
		s.retreat()
	case !s.asking && s.calls < maxCalls:
		s.call(now)
	case !s.asking:
		s.ask()
	case s.tries < maxAsks:
		s.tries++
		s.ask()
	default:
		s.retreat()
	}
}

// Receive takes in a message.
func (s *Sink) Receive(now Time, m Message) {
	switch {
	case s.done:
	case m.Kind == Upload && m.To == SinkID:
		s.receive(now, &m)
	case m.Kind == NextRep && s.asking && m.From == s.at():
		s.asking, s.wake = false, 0
		s.follow(now, m.Peer)
	}
}

// receive takes as many of an UPLOAD's packets as there is time for; the others stay where they are.
func (s *Sink) receive(now Time, m *Message) {
	if last := s.last[m.From]; m.Hi > last {
		before := max(last, m.Lo-1)
		got := m.Hi - before
		if begin := max(now, s.busy); s.cfg.Rate > 0 {
			if fit := float64(s.latest()-begin) * s.cfg.Rate; fit < float64(got) {
				got = uint32(max(fit, 0))
			}
			s.busy = begin + Time(math.Ceil(float64(got)/s.cfg.Rate))
		}
		s.Packets += uint64(got)
		s.last[m.From] = before + got
	}
	s.out = append(s.out, Message{Kind: Ack, From: SinkID, To: m.From, Hi: min(m.Hi, s.last[m.From])})
	if !s.asking && s.move == Nobody {
		s.pause(now)
	}
}

// Sent confirms or gives up a unicast of the sink.
func (s *Sink) Sent(now Time, m Message, ok bool) {
	switch {
	case m.Kind != NextReq || !s.asking || m.To != s.at():
	case ok:
		s.pause(now) // for the answer
	default:
		s.retreat()
	}
}

// follow goes where a node points.
func (s *Sink) follow(now Time, next ID) {
	switch {
	case s.root < 0 && next == Nobody: // this is the root
		s.root = len(s.way) - 1
		s.collect(now)
	case next != Nobody && max(now, s.busy)+s.cfg.Step+4*s.cfg.Slot <= s.latest()-s.cfg.Step:
		s.way = append(s.way, next)
		s.move, s.fresh = next, true
	default:
		s.retreat()
	}
}

// retreat goes back one stop; behind the first one the tour is over.
func (s *Sink) retreat() {
	s.asking, s.wake = false, 0
	s.way = s.way[:len(s.way)-1]
	if len(s.way) == 0 {
		s.done = true
		return
	}
	s.move = s.at()
}
