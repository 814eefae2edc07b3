package node

// How the root gets to the middle of the load. The first wave, from the initiator, finds the total load and the
// deepest node. MEDIAN_TOKEN goes there, and that end of the network sweeps: its wave adds up the load of each layer.
// The token then goes from there towards the deepest node, that is to the other end, as far as half of the load lies. REROOT
// turns the way around each time. From then on the root moves by one hop an epoch as long as that is sure to be better: see sides.go.

// gather is called at the root when all loads are in: it chooses the threshold, or what comes next on the way to the median.
func (n *Node) gather(now Time) {
	if n.gathered {
		return
	}
	n.gathered = true
	switch n.purpose {
	case flagQuick:
		n.farEnd(now)
	case flagQuick | flagSweep:
		n.halfWay(now)
	default:
		n.chooseThreshold(now)
		if n.cfg.Roam {
			n.moveTo = n.better()
		}
	}
}

// farEnd sends the token to the deepest node, or goes on when the root stays where it is.
func (n *Node) farEnd(now Time) {
	hist := n.hist()
	b, k := threshold(n.lo, n.hi, &hist, n.cfg.Budget, n.load())
	low := uint32(1)
	if k > 3 {
		low = edge(n.lo, n.hi, k-4)
	}
	n.next = plan{lo: low, hi: max(b+b/2, low+Buckets), aim: b / 2} // trees of later waves need less than this one
	if to := n.deepChild(); to != Nobody && n.cfg.Roam {
		n.send(Message{Kind: MedianToken, To: to, Flags: flagQuick, Load: n.load(), Lo: n.next.lo, Hi: n.next.hi, B: n.next.aim, Hops: n.deepest()})
		return
	}
	n.startWave(now, n.next)
}

// halfWay sends the token to where half of the load lies on this side.
func (n *Node) halfWay(now Time) {
	hist, whole, sum := n.hist(), uint64(0), uint64(0)
	for _, load := range hist {
		whole += uint64(load)
	}
	layer := uint32(0)
	for k, load := range hist {
		if 2*(sum+uint64(load)) >= whole {
			if load > 0 { // loads are taken to lie evenly within the bucket
				layer = n.lo*uint32(k) + uint32(uint64(n.lo)*(whole-2*sum)/(2*uint64(load)))
			}
			break
		}
		sum += uint64(load)
	}
	if to := n.deepChild(); to != Nobody && layer > 0 {
		n.send(Message{Kind: MedianToken, To: to, Flags: flagQuick | flagSweep, Load: n.load(), Lo: n.next.lo, Hi: n.next.hi, B: n.next.aim, Hops: uint16(layer)})
		return
	}
	n.startWave(now, n.next)
}

// deepChild is the child with the deepest node below.
func (n *Node) deepChild() ID {
	best, deep := Nobody, uint16(0)
	for i := range n.children {
		if n.children[i].deep > deep {
			best, deep = n.children[i].id, n.children[i].deep
		}
	}
	return best
}

// token passes the token on, or makes this node the root.
func (n *Node) token(now Time, m *Message) {
	if m.Wave != n.wave || m.From != n.parent {
		return
	}
	pass := Message{Kind: MedianToken, To: Nobody, Flags: m.Flags & (flagQuick | flagSweep), Load: m.Load, Lo: m.Lo, Hi: m.Hi, B: m.B, Hops: m.Hops}
	next := plan{lo: max(m.Lo, 1), hi: max(m.Hi, 1), aim: m.B}
	switch {
	case !m.has(flagQuick): // this node is the better root
	case m.has(flagSweep):
		if n.rank < m.Hops {
			pass.To = n.deepChild()
		}
	default:
		pass.To = n.deepChild()
	}
	if pass.To != Nobody {
		n.send(pass)
		return
	}
	n.takeRoot(now, m, next)
}

// takeRoot turns the way to the old root around and starts a wave.
func (n *Node) takeRoot(now Time, m *Message, next plan) {
	old := n.parent
	n.parent = Nobody
	n.send(Message{Kind: Reroot, To: old})
	if !m.has(flagQuick) || m.has(flagSweep) {
		n.startWave(now, next)
		return
	}
	// The other end may be twice as far as this one was from the initiator. Loads are counted in units that a bucket can hold.
	layers, unit := 2*uint32(m.Hops)/Buckets+1, m.Load/(1<<15)+1
	n.startWave(now, plan{purpose: flagQuick | flagSweep, lo: layers, hi: unit})
	n.next = next
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
