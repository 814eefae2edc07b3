package node

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

// bestParent is the parent that the node has, as long as that one is in this wave and has a lower rank; else, of the neighbours of
// lower rank, the one below which the largest cost on the way is least. Equals are told apart by a number that changes from wave to wave.
func (n *Node) bestParent() ID {
	best, least, bestTie := Nobody, uint32(0), uint32(0)
	for i := range n.nearby {
		nb := &n.nearby[i]
		if nb.wave != n.wave || nb.rank >= n.rank {
			continue
		}
		if nb.id == n.parent {
			return nb.id
		}
		top, tie := n.topBelow(nb), hash(uint32(nb.id), n.wave.Seq)
		if best == Nobody || top < least || top == least && tie < bestTie {
			best, least, bestTie = nb.id, top, tie
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
	n.flush(now)
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
	c.load, c.hist, c.core = m.Load, m.Hist, m.has(flagCore)
	if n.ready { // it is late
		c.core = n.core && inCore(c.load, n.b, c.core)
		n.tell(c)
	}
	n.loadChanged(now)
}

// childLoad updates a child's load.
func (n *Node) childLoad(now Time, m *Message) {
	c := n.child(m.From)
	if c == nil || m.Wave != n.wave {
		return
	}
	changed := c.load != m.Load
	c.load, c.hist = m.Load, m.Hist
	if !n.ready || m.has(flagReady) {
		c.core = m.has(flagCore)
	}
	if changed {
		n.loadChanged(now)
	}
}

// loadChanged tells the parent a new load.
func (n *Node) loadChanged(now Time) {
	n.decideCore(now)
	if n.gathered {
		return
	}
	if n.settled && !n.isRoot() {
		n.soon(tLoad, now+n.cfg.Slot)
	}
	n.soon(tSettle, now+1)
}

// tellLoad sends a changed load.
func (n *Node) tellLoad(Time) {
	if n.settled && n.parent != Nobody && n.load() != n.told {
		n.send(Message{Kind: Load, To: n.parent})
	}
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
