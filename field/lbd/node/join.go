package node

import "math"

// join asks the best parent to take this node in.
func (n *Node) join(now Time) {
	if n.settled || n.joining != Nobody || n.rank == 0 {
		return
	}
	best := n.bestParent()
	if best == Nobody {
		n.orphaned(now)
		return
	}
	n.joining = best
	n.send(Message{Kind: Join, To: best, Peer: best})
}

// bestParent chooses among the neighbours of lower rank:
//   - one that the sink is going to visit anyway, because it belongs to the core or its load already exceeds the
//     threshold aimed at: load costs nothing there;
//   - else the parent of the wave before, unless another one is clearly better;
//   - else the one whose load, with this node's, is least per energy left.
//
// Equals are told apart by energy, then by a number that changes from wave to wave.
func (n *Node) bestParent() ID {
	best, bestCost, bestEnergy, bestTie := Nobody, uint64(0), uint8(0), uint32(0)
	for i := range n.nearby {
		nb := &n.nearby[i]
		if nb.wave != n.wave || nb.rank >= n.rank || n.purpose != 0 && nb.id != n.parent {
			continue
		}
		cost := n.cost(nb)
		tie := (uint32(nb.id) + n.wave.Seq) * 0x9e3779b1
		if best == Nobody || cost < bestCost || cost == bestCost && (nb.energy > bestEnergy || nb.energy == bestEnergy && tie < bestTie) {
			best, bestCost, bestEnergy, bestTie = nb.id, cost, nb.energy, tie
		}
	}
	return best
}

// switchBelow is how much of the cost of the old parent, in percent, that of another one must not exceed for a node to change. Of the
// nodes that would, one in four does in a wave: their neighbours would all jump to the same one otherwise.
const switchBelow = 90

func (n *Node) cost(nb *neighbour) uint64 {
	energy := uint64(max(nb.energy, 1))
	if nb.core || n.aim > 0 && nb.load > n.aim {
		if nb.id == n.before {
			return 0
		}
		return 1
	}
	if at, found := n.find(n.before); found && n.nearby[at].wave == n.wave && n.nearby[at].rank < n.rank && nb.final > 0 {
		if nb.id == n.before {
			return uint64(nb.final) * 255 / energy * switchBelow / 100
		}
		if (uint32(n.cfg.ID)*0x85ebca6b+n.wave.Seq*0x9e3779b1)>>30 == 0 {
			return (uint64(nb.final) + uint64(n.load())) * 255 / energy
		}
		return math.MaxUint64
	}
	return (uint64(nb.load) + uint64(n.load())) * 255 / energy
}

// joined ends an attempt to join.
func (n *Node) joined(now Time, m *Message, ok bool) {
	if m.Wave != n.wave || m.Peer != n.joining || m.To != m.Peer {
		return
	}
	n.joining = Nobody
	if !ok {
		n.join(now)
		return
	}
	n.parent, n.settled, n.told = m.Peer, true, m.Load
	if n.load() != m.Load {
		n.soon(tLoad, now+n.cfg.Slot)
	}
	if n.purpose == 0 && n.uppers() > 1 {
		n.send(Message{Kind: Load, To: Nobody}) // for those that were not chosen
	}
	n.flush(now)
}

// uppers counts the neighbours of lower rank.
func (n *Node) uppers() (count int) {
	for i := range n.nearby {
		if n.nearby[i].wave == n.wave && n.nearby[i].rank < n.rank {
			count++
		}
	}
	return count
}

// adoptChild takes in a node that joined.
func (n *Node) adoptChild(now Time, m *Message) {
	if m.Wave != n.wave || m.Rank <= n.rank {
		return
	}
	c := n.child(m.From)
	if c == nil {
		n.children = append(n.children, child{id: m.From})
		c = &n.children[len(n.children)-1]
	}
	c.load, c.deep, c.hist, c.sides, c.core = m.Load, m.Hops, m.Hist, m.Sides, m.has(flagCore)
	n.loadChanged(now)
}

// childLoad updates a child's load.
func (n *Node) childLoad(now Time, m *Message) {
	c := n.child(m.From)
	if c == nil || m.Wave != n.wave {
		return
	}
	changed := c.load != m.Load
	c.load, c.deep, c.hist, c.sides, c.core = m.Load, m.Hops, m.Hist, m.Sides, m.has(flagCore)
	if changed {
		n.loadChanged(now)
	}
}

// loadChanged tells a new load: to the parent when there is one, else to the nodes that still choose.
func (n *Node) loadChanged(now Time) {
	n.decideCore(now)
	switch {
	case n.gathered:
		return
	case n.settled && !n.isRoot():
		n.soon(tLoad, now+n.cfg.Slot)
	case n.purpose == 0:
		n.soon(tLoad, now+n.cfg.Delay)
	}
	n.soon(tSettle, now+1)
}

// tellLoad sends a changed load.
func (n *Node) tellLoad(Time) {
	switch {
	case n.settled && n.parent != Nobody:
		if n.load() != n.told {
			n.send(Message{Kind: Load, To: n.parent})
		}
	case n.choosing():
		n.send(Message{Kind: Load, To: Nobody})
	}
}

// choosing tells whether a deeper neighbour still chooses its parent.
func (n *Node) choosing() bool {
	for i := range n.nearby {
		if nb := &n.nearby[i]; nb.wave == n.wave && nb.rank > n.rank && !nb.settled {
			return true
		}
	}
	return false
}

func (n *Node) child(id ID) *child {
	for i := range n.children {
		if n.children[i].id == id {
			return &n.children[i]
		}
	}
	return nil
}

// loseChild drops a child that does not answer.
func (n *Node) loseChild(now Time, id ID) {
	for i := range n.children {
		if n.children[i].id == id {
			n.children = append(n.children[:i], n.children[i+1:]...)
			n.loadChanged(now)
			return
		}
	}
}
