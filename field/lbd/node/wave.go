package node

import "math"

// plan is what a wave is started with.
type plan struct {
	purpose uint16
	lo, hi  uint32
}

// scout is the plan of a wave that is started without any knowledge of loads: a histogram in powers of two.
var scout = plan{purpose: flagScout, lo: 1, hi: 1 << 16}

// nextEpoch starts the next wave: at the root when its epoch is over, at the initiator first of all.
func (n *Node) nextEpoch(now Time) {
	to := Nobody
	if n.cfg.Roam {
		to = n.behind(moveAt, n.load())
	}
	switch {
	case n.wave.Seq == 0:
		n.elect(now)
	case !n.isRoot():
	case to != Nobody:
		n.passToken(to, n.load(), n.next)
		n.set(tElect, now+n.patience())
	default:
		n.startWave(now, n.next)
	}
}

// elect makes the node root: the initiator's first wave, or after a long time without one.
func (n *Node) elect(now Time) {
	if n.hi == 0 {
		n.startWave(now, scout)
	} else {
		n.startWave(now, plan{flagHurry, n.lo, n.hi})
	}
}

// startWave makes the node the root of a new wave.
func (n *Node) startWave(now Time, p plan) {
	n.enter(now, Wave{n.wave.Seq + 1, n.cfg.ID}, 0, Nobody)
	n.purpose, n.lo, n.hi, n.next = p.purpose, p.lo, p.hi, p
	n.settled = true
	n.sayHello(now)
	n.set(tEpoch, now+n.cfg.Epoch)
	n.set(tElect, 0)
}

// enter moves to a newer wave.
func (n *Node) enter(now Time, w Wave, rank uint16, parent ID) {
	n.wave, n.heard, n.rank, n.parent = w, w, rank, parent
	n.settled, n.saidHi, n.flipped, n.joining = false, false, false, Nobody
	n.stage, n.stageAt, n.poll, n.pollGap, n.pleas, n.gathered, n.told = 0, 0, 0, 0, 0, false, 0
	n.children = n.children[:0]
	for i := range n.nearby {
		n.nearby[i].nudged = false
	}
	n.ready = false
	n.call, n.caller, n.heardNo = 0, Nobody, 0
	n.set(tEpoch, 0)
	n.set(tJoin, 0)
	n.set(tLoad, 0)
	n.set(tPlea, 0)
	n.set(tEnter, 0)
	n.set(tCall, 0)
	n.set(tConfirm, 0)
	n.set(tElect, now+n.patience())
}

// note remembers where another node stands.
func (n *Node) note(m *Message) *neighbour {
	nb := n.neighbour(m.From)
	nb.energy = m.Energy
	if m.Wave.newer(nb.wave) {
		nb.settled = false
	}
	if !nb.wave.newer(m.Wave) {
		nb.wave, nb.rank, nb.core, nb.gate = m.Wave, m.Rank, m.has(flagCore), gate{m.Gate, m.Top, m.Weak}
	}
	return nb
}

// status takes note of where another node stands, and moves to its wave when that is newer.
func (n *Node) status(now Time, m *Message) {
	nb := n.note(m)
	n.confirmed(m)
	if m.Wave == nb.wave {
		nb.parent, nb.settled = m.Peer, nb.settled || m.has(flagSettled) || m.Kind == Join
	}
	if m.Kind == Repair && m.has(flagRequest) && m.Peer == Nobody {
		nb.rank = math.MaxUint16 // leads nowhere
		return
	}
	if m.Wave.Seq == 0 || m.Rank == math.MaxUint16 {
		return
	}
	switch {
	case m.Wave.newer(n.wave):
		n.approach(now, m)
	case m.Wave != n.wave:
	case !n.settled && n.joining == Nobody && n.goal == Nobody && m.Rank+1 < n.rank:
		n.rank, n.parent = m.Rank+1, m.From
		n.soon(tHello, now+1+n.jitter(n.cfg.Delay))
	}
	if m.Wave == n.wave && n.saidHi {
		n.soon(tSettle, now+1)
	}
}

// approach enters a newer wave when it is heard from whom the node wants to have as parent in it; a node that wants nobody takes
// the first one, and later those of lower rank. The others are waited for, but not for long, and not when somebody else asks, or when in a hurry a
// child has entered without this node: they may be gone.
// Who heard of the new parent too late stays with the old one.
func (n *Node) approach(now Time, m *Message) {
	if m.Wave.newer(n.heard) {
		n.heard, n.coming, n.goal = m.Wave, plan{m.Flags & (flagScout | flagHurry), max(m.Lo, 1), max(m.Hi, 1)}, Nobody
		if n.purpose&flagScout == 0 {
			n.goal = n.turnTo(m.Wave)
		}
		n.set(tEnter, now+n.longest())
	}
	if m.Wave != n.heard {
		return
	}
	by := n.goal
	switch {
	case by == Nobody || m.has(flagAsk) && m.To == n.cfg.ID || n.coming.purpose == flagHurry && n.child(m.From) != nil:
		by = m.From
	case by == m.From && by != n.parent && n.neighbour(by).settled: // it is too late to turn to that one
		n.goal, by = n.parent, n.parent
	}
	if at, found := n.find(by); found && n.nearby[at].wave == n.heard && n.nearby[at].rank < math.MaxUint16 {
		n.follow(now, by, n.nearby[at].rank)
	}
}

// longest is how long the node waits for the parent that it wants.
func (n *Node) longest() Time {
	if n.coming.purpose == flagHurry {
		return 3 * n.cfg.Slot
	}
	return 24 * n.cfg.Slot
}

// follow enters the wave that was heard behind a neighbour of the given rank.
func (n *Node) follow(now Time, parent ID, rank uint16) {
	n.enter(now, n.heard, rank+1, parent)
	n.purpose, n.lo, n.hi = n.coming.purpose, n.coming.lo, n.coming.hi
	n.set(tHello, now+n.cfg.Delay+n.jitter(n.cfg.Delay))
}

// enterAnyhow enters the wave that was heard although not from the parent that the node wanted.
func (n *Node) enterAnyhow(now Time) {
	best := -1
	for i := range n.nearby {
		if nb := &n.nearby[i]; nb.wave == n.heard && nb.rank < math.MaxUint16 && (best < 0 || nb.rank < n.nearby[best].rank) {
			best = i
		}
	}
	if n.goal = Nobody; best >= 0 {
		n.follow(now, n.nearby[best].id, n.nearby[best].rank)
		return
	}
	if n.heard = n.wave; n.parent == Nobody {
		n.orphaned(now)
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

// sayHello announces the node's rank, before the first wave only its presence. It goes to the parent, which has to know who will join it;
// all others overhear it.
func (n *Node) sayHello(now Time) {
	n.send(Message{Kind: Hello, To: n.parent})
	if n.wave.Seq > 0 && !n.saidHi {
		n.saidHi = true
		n.stageAt = now + n.cfg.Slot*3/2
		n.soon(tSettle, n.stageAt)
	}
}

// maxNudges bounds the neighbours that are told of a wave, or asked whether they have settled, at a time.
const maxNudges = 3

// settle waits until those that hang from this node are in this wave and have joined; then it is this node's turn.
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
	n.set(tJoin, now+1)
}

// wakeSilent tells neighbours that are missing, first all at once, then one by one; it gives up on
// them after a while. True means that it is too early to go on.
func (n *Node) wakeSilent(now Time) bool {
	const again, stages = 1, 3 // say HELLO again, then tell them one by one
	if now < n.stageAt {
		n.soon(tSettle, n.stageAt)
		return true
	}
	silent := 0
	for i := range n.nearby {
		if n.missing(&n.nearby[i]) {
			silent++
		}
	}
	if silent == 0 || n.stage >= stages {
		return false
	}
	n.stageAt = now + n.cfg.Slot*3/2
	n.set(tSettle, n.stageAt)
	if n.stage++; n.stage == again {
		n.send(Message{Kind: Hello, To: Nobody})
		return true
	}
	told := 0
	for i := range n.nearby {
		if nb := &n.nearby[i]; n.missing(nb) && !nb.nudged && told < maxNudges {
			nb.nudged = true
			told++
			n.send(Message{Kind: Hello, To: nb.id, Flags: flagAsk})
		}
	}
	return true
}

// missing tells of a neighbour that was not heard in this wave and hung, or may want to hang, from this node.
func (n *Node) missing(nb *neighbour) bool {
	return nb.wave != n.wave && (nb.parent == n.cfg.ID || nb.parent == Nobody || n.goal == Nobody)
}

// awaitDeeper tells whether a neighbour that wants to join this node has not settled. One that stays quiet
// for long is asked, ever more rarely.
func (n *Node) awaitDeeper(now Time) bool {
	waiting := 0
	ask := n.poll > 0 && now >= n.poll
	for i := range n.nearby {
		nb := &n.nearby[i]
		if nb.wave != n.wave || nb.rank <= n.rank || nb.settled || nb.parent != n.cfg.ID {
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
