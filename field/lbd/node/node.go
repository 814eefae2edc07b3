package node

// Config is what a node is deployed with.
type Config struct {
	ID        ID
	Weight    uint32 // packets that it makes in a round
	Delay     Time   // a frame takes at most this long
	Slot      Time   // a unicast with all its repetitions takes at most this long
	Epoch     Time   // from wave to wave
	Budget    uint32 // largest number of stops beside the root
	Initiator bool   // starts the first wave
	Roam      bool   // the root moves to the weighted median; else it stays with the initiator
}

// Timers of a node.
const (
	tHello   = iota // send HELLO
	tSettle         // see whether neighbours have settled
	tJoin           // join a parent
	tLoad           // tell a changed load
	tUpload         // upload to the sink
	tEpoch          // root: next wave
	tElect          // no wave for long: become root
	tPlea           // without parent: look again
	tEnter          // a newer wave has not come by way of the parent
	tCall           // tell the threshold to those who have not confirmed it
	tConfirm        // confirm the threshold
	timers
)

// Node is the state of one sensor.
type Node struct {
	cfg    Config
	out    []Message
	timer  [timers]Time // 0 when off
	wave   Wave
	rank   uint16
	parent ID
	energy uint8

	purpose  uint16 // of the wave: flagScout, flagHurry or 0
	lo, hi   uint32 // range of the histogram
	heard    Wave   // the newest one, when that is not the node's yet
	coming   plan   // of that one
	goal     ID     // by way of whom it wants to enter that one; Nobody: of anybody
	next     plan   // root: of the wave after this one
	saidHi   bool   // HELLO was sent in this wave
	stage    int    // of asking silent neighbours
	stageAt  Time   // when it ends
	poll     Time   // when to ask neighbours that do not settle
	pollGap  Time
	joining  ID // the parent that a JOIN is under way to
	settled  bool
	gathered bool   // root: all loads are in
	told     uint32 // load that the parent knows
	pleas    int    // for a new wave
	flipped  bool   // REROOT has turned the way around: wait for the next wave
	asked    Wave   // the wave in which a request was passed on
	b        uint32
	core     bool
	upCore   bool  // the parent belongs to the core
	known    bool  // a threshold was received
	gate     gate  // as of the last threshold
	ready    bool  // in this wave
	call     uint8 // number of the last THRESH in this wave
	calls    int   // how often it was sent
	caller   ID    // from whom the last one was received in this wave
	heardNo  uint8 // its number
	nearby   []neighbour
	children []child

	held      uint32 // packets waiting
	sending   uint32 // of them, under way in an UPLOAD
	seq       uint32 // of the last packet handed on
	atSink    bool   // the UPLOAD under way is to the sink
	nextChild int    // for NEXT_REQ
}

// neighbour is what a node knows of another one in reach.
type neighbour struct {
	id      ID
	wave    Wave
	rank    uint16
	energy  uint8
	core    bool
	gate    gate
	settled bool
	parent  ID
	nudged  bool // was told of this wave
}

// child is a node that joined this one in this wave.
type child struct {
	id   ID
	load uint32
	hist [Buckets]uint16
	core bool
	due  bool   // has not confirmed the threshold
	seq  uint32 // of the last packet received from it
}

// New is a node that has just been switched on.
func New(cfg Config) *Node {
	return &Node{cfg: cfg, parent: Nobody, energy: 255, joining: Nobody, goal: Nobody, gate: gate{id: Nobody}}
}

// Start announces the node, twice. The initiator starts the first wave when all have done so.
func (n *Node) Start(now Time) {
	n.sayHello(now)
	n.set(tHello, now+n.cfg.Slot)
	if n.cfg.Initiator {
		n.set(tEpoch, now+4*n.cfg.Slot)
	}
	n.set(tElect, now+n.patience())
}

// patience is how long a node waits for a wave before it makes itself root; nodes differ.
func (n *Node) patience() Time { return n.cfg.Epoch + n.cfg.Epoch/2 + n.jitter(n.cfg.Epoch/4) }

// jitter is a number from 0 to below d that depends on the node and the wave, to keep neighbours apart.
func (n *Node) jitter(d Time) Time {
	return Time(hash(uint32(n.cfg.ID), n.wave.Seq)) % max(d, 1)
}

// SetEnergy tells the node how much of its battery is left, 0 to 255.
func (n *Node) SetEnergy(level uint8) { n.energy = level }

// Outbox gives the messages to be sent since the last call, in order. The slice is reused.
func (n *Node) Outbox() []Message {
	out := n.out
	n.out = n.out[:0]
	return out
}

// NextWake is when Wake wants to be called; 0 when never.
func (n *Node) NextWake() Time {
	next := Time(0)
	for _, at := range n.timer {
		if at > 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// Wake runs the timers that are due.
func (n *Node) Wake(now Time) {
	for t, run := range [timers]func(Time){n.sayHello, n.settle, n.join, n.tellLoad, n.uploadToSink, n.nextEpoch, n.elect, n.orphaned, n.enterAnyhow, n.callAgain, n.confirm} {
		if at := n.timer[t]; at > 0 && at <= now {
			n.timer[t] = 0
			run(now)
		}
	}
}

func (n *Node) set(timer int, at Time) { n.timer[timer] = at }

// soon sets a timer unless it is to run earlier.
func (n *Node) soon(timer int, at Time) {
	if n.timer[timer] == 0 || n.timer[timer] > at {
		n.timer[timer] = at
	}
}

// Receive takes in a message, also one to another node that was overheard.
func (n *Node) Receive(now Time, m Message) {
	mine := m.To == n.cfg.ID || m.To == Nobody
	switch m.Kind {
	case Hello, Join, Load, Repair:
		n.status(now, &m)
	case Thresh:
		n.note(&m)
		n.confirmed(&m)
	}
	if !mine {
		return
	}
	switch m.Kind {
	case Hello:
		n.answer(now, &m)
	case Join:
		if m.Peer == n.cfg.ID {
			n.adoptChild(now, &m)
		}
	case Load:
		if m.To == n.cfg.ID {
			n.childLoad(now, &m)
		}
	case Repair:
		n.repairFor(now, &m)
	case MedianToken:
		n.token(now, &m)
	case Reroot:
		n.turn(&m)
	case Thresh:
		n.takeThreshold(now, &m)
	case SinkBeacon:
		n.beacon(now, &m)
	case NextReq:
		n.nextStop(&m)
	case Upload:
		n.takePackets(now, &m)
	case Ack:
		n.acknowledged(&m)
	}
}

// Sent confirms or gives up a unicast of this node. What is given up is sent once more: bad luck is far more frequent than death.
func (n *Node) Sent(now Time, m Message, ok bool) {
	if !ok && m.To != SinkID {
		if !m.has(flagAgain) {
			m.Flags |= flagAgain
			n.out = append(n.out, m)
			return
		}
		n.forget(m.To)
	}
	switch m.Kind {
	case Join:
		n.joined(now, &m, ok)
	case Hello:
		if !ok && m.To == n.parent && m.Wave == n.wave {
			n.orphaned(now)
		}
	case Upload:
		n.handedOn(now, &m, ok)
	case Load, Repair:
		if ok {
			n.told = m.Load
		} else if m.To == n.parent {
			n.orphaned(now)
		}
	case MedianToken:
		if !ok && m.Wave == n.wave {
			n.lead(now, plan{lo: m.Lo, hi: m.Hi})
		}
	case Thresh:
		n.called(now, &m, ok)
	}
}

// send queues a message from this node with its state filled in.
func (n *Node) send(m Message) {
	m.From, m.Energy, m.Wave, m.Rank = n.cfg.ID, n.energy, n.wave, n.rank
	m.Gate, m.Top, m.Weak, m.Heard = n.gate.id, n.gate.top, n.gate.weak, n.heardNo
	if n.core {
		m.Flags |= flagCore
	}
	switch m.Kind {
	case Hello, Join, Load, Repair:
		m.Load, m.Lo, m.Hi = n.load(), n.lo, n.hi
		m.Flags |= n.purpose
		if n.settled {
			m.Flags |= flagSettled
		}
		if n.ready {
			m.Flags |= flagReady
		}
		if m.Kind != Join {
			m.Peer = n.parent
		}
		if m.Kind.carriesHist() {
			m.Hist = n.hist()
		}
	}
	n.out = append(n.out, m)
}

// load is that of the subtree, packets a round.
func (n *Node) load() uint32 {
	sum := n.cfg.Weight
	for i := range n.children {
		sum += n.children[i].load
	}
	return sum
}

// hist counts the nodes of the subtree by load (the root is not counted: it is visited anyway).
func (n *Node) hist() (h [Buckets]uint16) {
	if n.hi == 0 {
		return h
	}
	for i := range n.children {
		for k, count := range n.children[i].hist {
			addCount(&h[k], count)
		}
	}
	if !n.isRoot() {
		addCount(&h[bucket(n.lo, n.hi, stays(n.load(), n.core))], 1)
	}
	return h
}

func (n *Node) isRoot() bool { return n.wave.Root == n.cfg.ID && n.wave.Seq > 0 }

// View is what an observer may see of a node; nodes themselves never see one another's.
type View struct {
	Parent  ID
	Root    bool
	Wave    Wave
	Rank    uint16
	Load    uint32
	B       uint32 // threshold, 0 when none is known
	Core    bool
	Settled bool
	Held    uint32 // packets waiting
}

// View shows the node to an observer.
func (n *Node) View() View {
	return View{n.parent, n.isRoot(), n.wave, n.rank, n.load(), n.b, n.core, n.settled, n.held}
}
