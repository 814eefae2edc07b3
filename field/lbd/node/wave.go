package node

import "math"

// plan is what a wave is started with.
type plan struct {
	purpose uint16
	lo, hi  uint32
	aim     uint32
}

// first is the plan of a wave that is started without any knowledge of loads.
var first = plan{purpose: flagQuick, lo: 1, hi: 1}

// nextEpoch starts the next wave: at the root when its epoch is over, at the initiator first of all.
func (n *Node) nextEpoch(now Time) {
	switch {
	case n.wave.Seq == 0:
		n.elect(now)
	case n.isRoot() && n.moveTo != Nobody:
		n.send(Message{Kind: MedianToken, To: n.moveTo, Load: n.load(), Lo: n.next.lo, Hi: n.next.hi, B: n.next.aim})
		n.set(tElect, now+4*n.cfg.Slot)
	case n.isRoot():
		n.startWave(now, n.next)
	}
}

// elect makes the node root: the initiator's first wave, or after a long time without one. Where nothing is known of
// loads, the first wave is a quick one.
func (n *Node) elect(now Time) {
	if n.hi == 0 {
		n.startWave(now, first)
	} else {
		n.startWave(now, plan{lo: n.lo, hi: n.hi, aim: n.aim})
	}
}

// tryEvery is how often a wave tries changes to the best tree so far; the others restore it.
const tryEvery = 2

// startWave makes the node the root of a new wave.
func (n *Node) startWave(now Time, p plan) {
	n.enter(now, Wave{n.wave.Seq + 1, n.cfg.ID}, 0, Nobody)
	if p.purpose == 0 && n.wave.Seq%tryEvery == 0 {
		p.purpose = flagTry
	}
	n.purpose, n.lo, n.hi, n.aim, n.next = p.purpose, p.lo, p.hi, p.aim, p
	n.settled = true
	n.sayHello(now)
	n.set(tEpoch, now+n.cfg.Epoch)
	n.set(tElect, 0)
}

// quick tells that the wave only looks for the median.
func (n *Node) quick() bool { return n.purpose&flagQuick != 0 }

// enter moves to a newer wave.
func (n *Node) enter(now Time, w Wave, rank uint16, parent ID) {
	n.wave, n.rank, n.parent = w, rank, parent
	n.settled, n.saidHi, n.flipped, n.joining, n.moveTo = false, false, false, Nobody, Nobody
	n.stage, n.stageAt, n.poll, n.pollGap, n.pleas, n.gathered, n.told = 0, 0, 0, 0, 0, false, 0
	n.children = n.children[:0]
	for i := range n.nearby {
		n.nearby[i].nudged = false
	}
	n.ready = false
	n.set(tEpoch, 0)
	n.set(tJoin, 0)
	n.set(tLoad, 0)
	n.set(tPlea, 0)
	n.set(tElect, now+n.patience())
}

// status takes note of where another node stands, and moves to its wave when that is newer.
func (n *Node) status(now Time, m *Message) {
	nb := n.neighbour(m.From)
	nb.energy, nb.core = m.Energy, m.has(flagKept)
	if m.Wave.newer(nb.wave) || m.Wave == nb.wave {
		nb.wave, nb.rank, nb.load, nb.mask, nb.parent, nb.settled = m.Wave, m.Rank, m.Load, m.Mask, m.Peer, m.has(flagSettled) || m.Kind == Join
	}
	if m.Kind == Repair && m.has(flagRequest) && m.Peer == Nobody {
		nb.rank = math.MaxUint16 // leads nowhere
		return
	}
	if m.Wave.Seq == 0 {
		return
	}
	switch {
	case m.Wave.newer(n.wave):
		n.enter(now, m.Wave, m.Rank+1, m.From)
		n.purpose, n.lo, n.hi, n.aim = m.Flags&(flagQuick|flagTry), max(m.Lo, 1), max(m.Hi, 1), m.B
		n.set(tHello, now+n.cfg.Delay+n.jitter(n.cfg.Delay))
	case m.Wave != n.wave:
	case !n.settled && n.joining == Nobody && m.Rank+1 < n.rank:
		n.rank, n.parent = m.Rank+1, m.From
		n.soon(tHello, now+1+n.jitter(n.cfg.Delay))
	}
	if m.Wave == n.wave && n.saidHi {
		n.soon(tSettle, now+1)
	}
}

// answer replies to a neighbour that asks or that has missed this wave.
func (n *Node) answer(now Time, m *Message) {
	if !n.saidHi {
		return // HELLO is on its way
	}
	nb := n.neighbour(m.From)
	switch {
	case m.has(flagAsk) && m.Wave == n.wave && n.settled && !n.isRoot():
		n.send(Message{Kind: Join, To: m.From, Peer: n.parent}) // tells that this node has settled
	case m.has(flagAsk) && m.Wave == n.wave && n.timer[tHello] == 0 && !nb.nudged:
		nb.nudged = true
		n.send(Message{Kind: Hello, To: m.From})
	case n.wave.newer(m.Wave) && !nb.nudged:
		nb.nudged = true
		n.send(Message{Kind: Hello, To: m.From})
	}
}

// sayHello announces the node's rank, before the first wave only its presence.
func (n *Node) sayHello(now Time) {
	n.send(Message{Kind: Hello, To: Nobody})
	if n.wave.Seq > 0 && !n.saidHi {
		n.saidHi = true
		n.stageAt = now + 2*n.cfg.Slot
		n.soon(tSettle, n.stageAt)
	}
}

// maxNudges bounds the neighbours that are told of a wave, or asked whether they have settled, at a time.
const maxNudges = 3

// settle waits until all neighbours are in this wave and the deeper ones have chosen their parents; then it is this node's turn.
func (n *Node) settle(now Time) {
	if n.settled && !n.isRoot() || n.timer[tJoin] > 0 || n.joining != Nobody {
		return
	}
	if n.wakeSilent(now) || n.awaitDeeper(now) {
		return
	}
	if n.isRoot() {
		n.gather(now)
		return
	}
	wait := Time(1)
	if !n.quick() {
		wait += n.jitter(16 * n.cfg.Delay)
	}
	n.set(tJoin, now+wait)
}

// wakeSilent tells neighbours that have not been heard in this wave, first all at once, then one by one; it gives up on
// them after a while. True means that it is too early to go on.
func (n *Node) wakeSilent(now Time) bool {
	const again, stages = 1, 3 // say HELLO again, then tell them one by one
	silent := 0
	for i := range n.nearby {
		if n.nearby[i].wave != n.wave {
			silent++
		}
	}
	if silent == 0 || n.stage >= stages {
		return false
	}
	if now < n.stageAt {
		n.soon(tSettle, n.stageAt)
		return true
	}
	n.stageAt = now + 2*n.cfg.Slot
	n.set(tSettle, n.stageAt)
	if n.stage++; n.stage == again {
		n.send(Message{Kind: Hello, To: Nobody})
		return true
	}
	told := 0
	for i := range n.nearby {
		if nb := &n.nearby[i]; nb.wave != n.wave && !nb.nudged && told < maxNudges {
			nb.nudged = true
			told++
			n.send(Message{Kind: Hello, To: nb.id, Flags: flagAsk})
		}
	}
	return true
}

// awaitDeeper tells whether a deeper neighbour that may join this node has not settled. One that stays quiet
// for long is asked, ever more rarely.
func (n *Node) awaitDeeper(now Time) bool {
	waiting := 0
	ask := n.poll > 0 && now >= n.poll
	for i := range n.nearby {
		nb := &n.nearby[i]
		if nb.wave != n.wave || nb.rank <= n.rank || nb.settled || n.quick() && nb.parent != n.cfg.ID {
			continue
		}
		if waiting++; ask && waiting <= maxNudges {
			n.send(Message{Kind: Hello, To: nb.id, Flags: flagAsk})
		}
	}
	if waiting == 0 {
		return false
	}
	if n.pollGap == 0 {
		n.pollGap = 64 * n.cfg.Slot
		n.poll = now + n.pollGap
	} else if ask {
		n.pollGap *= 4
		n.poll = now + n.pollGap
	}
	n.soon(tSettle, n.poll)
	return true
}

// neighbour is the entry of another node, made when it is new. The pointer is valid until the next call.
func (n *Node) neighbour(id ID) *neighbour {
	at, found := n.find(id)
	if !found {
		n.nearby = append(n.nearby, neighbour{})
		copy(n.nearby[at+1:], n.nearby[at:])
		n.nearby[at] = neighbour{id: id, parent: Nobody}
	}
	return &n.nearby[at]
}

func (n *Node) find(id ID) (at int, found bool) {
	lo, hi := 0, len(n.nearby)
	for lo < hi {
		if mid := (lo + hi) / 2; n.nearby[mid].id < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(n.nearby) && n.nearby[lo].id == id
}

// forget removes a neighbour that does not answer.
func (n *Node) forget(id ID) {
	if at, found := n.find(id); found {
		n.nearby = append(n.nearby[:at], n.nearby[at+1:]...)
	}
}
