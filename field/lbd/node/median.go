package node

// How the root gets to the middle of the load. The first wave, from the initiator, adds up loads by rank. When more than half of
// the load lies behind one of its neighbours (see sides.go), MEDIAN_TOKEN goes there and on along the heaviest children as far as
// half of the load lies; where it ends is the root of the first real wave. From then on the root moves by one hop an epoch as long as
// that is sure to be better. REROOT turns the way around each time.

// gather is called at the root when all loads are in.
func (n *Node) gather(now Time) {
	if n.gathered {
		return
	}
	n.gathered = true
	to := Nobody
	if n.cfg.Roam {
		to = n.better()
	}
	if !n.quick() {
		n.moveTo = to
		n.chooseThreshold(now)
		return
	}
	n.next = n.guess()
	if to == Nobody {
		n.startWave(now, n.next)
		return
	}
	n.send(Message{Kind: MedianToken, To: to, Load: n.load(), Lo: n.next.lo, Hi: n.next.hi, B: n.next.aim, Hops: n.halfWay()})
}

// guess is the plan of the first wave that balances loads: stops share the load, and each one's share comes from a few sides.
func (n *Node) guess() plan {
	share := n.load()/(n.cfg.Budget+1) + 1
	return plan{lo: share/8 + 1, hi: 2*share + Buckets, aim: share / 2}
}

// halfWay is the rank up to which half of the load lies; within a bucket loads are taken to lie evenly.
func (n *Node) halfWay() uint16 {
	hist, whole, sum := n.hist(), uint64(0), uint64(0)
	for _, load := range hist {
		whole += uint64(load)
	}
	for k, load := range hist {
		if load > 0 && 2*(sum+uint64(load)) >= whole {
			first := uint64(1) << k / 2
			return uint16(first + first*(whole-2*sum)/(2*uint64(load)))
		}
		sum += uint64(load)
	}
	return 0
}

// heaviest is the child with the largest load.
func (n *Node) heaviest() ID {
	best, load := Nobody, uint32(0)
	for i := range n.children {
		if c := &n.children[i]; c.load > load {
			best, load = c.id, c.load
		}
	}
	return best
}

// token passes the token on, or makes this node the root.
func (n *Node) token(now Time, m *Message) {
	if m.Wave != n.wave || m.From != n.parent {
		return
	}
	if to := n.heaviest(); n.rank < m.Hops && to != Nobody {
		n.send(Message{Kind: MedianToken, To: to, Load: m.Load, Lo: m.Lo, Hi: m.Hi, B: m.B, Hops: m.Hops})
		return
	}
	old := n.parent
	n.parent = Nobody
	n.send(Message{Kind: Reroot, To: old})
	n.startWave(now, plan{lo: max(m.Lo, 1), hi: max(m.Hi, 1), aim: m.B})
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
		n.send(Message{Kind: Reroot, To: old})
	}
}
