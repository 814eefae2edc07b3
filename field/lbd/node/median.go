package node

// How the root gets to the middle of the load. When clearly more than half of the load lies behind a child of the root,
// MEDIAN_TOKEN goes there and on as long as half of the load lies behind a child. Where it ends is the root of the next wave. REROOT turns the way around.

// moveAt is the percentage of the whole load that must lie behind a child for the root to move; more than
// half, so that it does not wander.
const moveAt = 55

// gather is called at the root when all loads are in.
func (n *Node) gather(now Time) {
	if !n.gathered {
		n.gathered = true
		n.chooseThreshold(now)
	}
}

// behind is the child behind which more than the given percentage of the whole load lies, Nobody when there is none.
func (n *Node) behind(percent, whole uint32) ID {
	for i := range n.children {
		if c := &n.children[i]; uint64(c.load)*100 > uint64(whole)*uint64(percent) {
			return c.id
		}
	}
	return Nobody
}

// token passes the token on, or makes this node the root.
func (n *Node) token(now Time, m *Message) {
	if m.Wave != n.wave || m.From != n.parent {
		return
	}
	p := plan{lo: max(m.Lo, 1), hi: max(m.Hi, 1)}
	if to := n.behind(50, m.Load); to != Nobody {
		n.passToken(to, m.Load, p)
		return
	}
	n.lead(now, p)
}

// lead starts a wave from here and turns the way to the root around.
func (n *Node) lead(now Time, p plan) {
	if old := n.parent; old != Nobody {
		n.parent = Nobody
		n.neighbour(old).parent = n.cfg.ID
		n.send(Message{Kind: Reroot, To: old})
	}
	n.startWave(now, p)
}

func (n *Node) passToken(to ID, whole uint32, p plan) {
	n.send(Message{Kind: MedianToken, To: to, Load: whole, Lo: p.lo, Hi: p.hi})
}

// turn turns the way around: the child that sends REROOT becomes the parent.
func (n *Node) turn(m *Message) {
	if n.child(m.From) == nil || m.Wave != n.wave {
		return
	}
	old := n.parent
	n.parent, n.flipped = m.From, true
	for i := range n.children {
		if n.children[i].id == m.From {
			n.children = append(n.children[:i], n.children[i+1:]...)
			break
		}
	}
	if old != Nobody {
		n.neighbour(old).parent = n.cfg.ID
		n.send(Message{Kind: Reroot, To: old})
	}
}
