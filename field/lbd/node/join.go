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

// bestParent chooses among the neighbours of lower rank. The first time it is
//   - one whose load already exceeds the threshold aimed at: the sink is going to visit it, and load costs nothing there;
//   - else the one whose load, with this node's, is least per energy left.
//
// Later it is the parent in the best tree so far. In a wave that tries changes some nodes leave it for
//   - a neighbour that belonged to the core of that tree, when the parent did not;
//   - one that had clearly less load per energy.
//
// Equals are told apart by energy, then by a number that changes from wave to wave.
func (n *Node) bestParent() ID {
	best, bestCost, bestEnergy, bestTie := Nobody, uint64(0), uint8(0), uint32(0)
	for i := range n.nearby {
		nb := &n.nearby[i]
		if nb.wave != n.wave || nb.rank >= n.rank || n.quick() && nb.id != n.parent {
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

// A node leaves the parent of the best tree for one that costs less than leaveFor percent of it. Of the nodes that would, one in
// tryOf does in a wave: neighbours would all jump to the same one otherwise.
const (
	leaveFor = 90
	tryOf    = 2
)

// cost orders the neighbours of lower rank: least is best.
func (n *Node) cost(nb *neighbour) uint64 {
	const visited, others = 1, 2
	energy, mine := uint64(max(nb.energy, 1)), uint64(n.load())
	at, found := n.find(n.kept)
	switch {
	case !found || n.nearby[at].wave != n.wave || n.nearby[at].rank >= n.rank: // there is no such parent any more
		if nb.core || n.aim > 0 && nb.load > n.aim {
			return visited
		}
		return others + (uint64(nb.load)+mine)*255/energy
	case nb.id == n.kept:
		if nb.core {
			return 0
		}
		return others + uint64(max(nb.kept, 1))*255*leaveFor/100/energy
	case n.purpose&flagTry == 0 || (uint32(n.cfg.ID)*0x85ebca6b+n.wave.Seq*0x9e3779b1)>>16%tryOf != 0:
		return math.MaxUint64
	case nb.core:
		return visited
	}
	return others + (uint64(nb.kept)+mine)*255/energy
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
	if !n.quick() && n.uppers() > 1 {
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
	c.load, c.hist, c.sides, c.core = m.Load, m.Hist, m.Sides, m.has(flagCore)
	n.loadChanged(now)
}

// childLoad updates a child's load.
func (n *Node) childLoad(now Time, m *Message) {
	c := n.child(m.From)
	if c == nil || m.Wave != n.wave {
		return
	}
	changed := c.load != m.Load
	c.load, c.hist, c.sides, c.core = m.Load, m.Hist, m.Sides, m.has(flagCore)
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
	case !n.quick():
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
