package node

// join chooses the parent among the neighbours of lower rank: one that the sink is going to visit anyway because its load
// exceeds the threshold aimed at, else the one whose load, with this node's, is least per energy left. Equals are told
// apart by energy, then by a number that changes from wave to wave.
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

func (n *Node) bestParent() ID {
	best, bestCost, bestEnergy, bestTie := Nobody, uint64(0), uint8(0), uint32(0)
	mine := uint64(n.load())
	for i := range n.nearby {
		nb := &n.nearby[i]
		if nb.wave != n.wave || nb.rank >= n.rank || n.purpose != 0 && nb.id != n.parent {
			continue
		}
		cost := (uint64(nb.load) + mine) * 255 / uint64(max(nb.energy, 1))
		if n.aim > 0 && nb.load > n.aim {
			cost = 0
		}
		tie := (uint32(nb.id) + n.wave.Seq) * 0x9e3779b1
		if best == Nobody || cost < bestCost || cost == bestCost && (nb.energy > bestEnergy || nb.energy == bestEnergy && tie < bestTie) {
			best, bestCost, bestEnergy, bestTie = nb.id, cost, nb.energy, tie
		}
	}
	return best
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
	c.load, c.deep, c.hist, c.core = m.Load, m.Hops, m.Hist, m.has(flagCore)
	n.loadChanged(now)
}

// childLoad updates a child's load.
func (n *Node) childLoad(now Time, m *Message) {
	c := n.child(m.From)
	if c == nil || m.Wave != n.wave {
		return
	}
	changed := c.load != m.Load
	c.load, c.deep, c.hist, c.core = m.Load, m.Hops, m.Hist, m.has(flagCore)
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
