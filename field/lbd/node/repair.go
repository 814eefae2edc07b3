package node

// maxPleas bounds the requests for a new wave; then the node makes one itself.
const maxPleas = 3

// orphaned finds a new parent of lower rank, or asks for a new wave.
func (n *Node) orphaned(now Time) {
	if n.isRoot() {
		return
	}
	old := n.parent
	n.parent, n.caller, n.heardNo = Nobody, Nobody, 0
	if n.heard.newer(n.wave) {
		n.set(tEnter, now+1)
		return
	}
	if !n.flipped {
		if best := n.bestParent(); best != Nobody {
			n.parent = best
			if n.settled {
				n.send(Message{Kind: Repair, To: best})
				n.flush(now)
			} else {
				n.soon(tHello, now+1)
			}
			return
		}
	}
	if old == n.wave.Root && old != Nobody {
		n.soon(tElect, now+1+n.jitter(n.cfg.Slot)) // the root is gone
		return
	}
	if n.pleas++; n.pleas > maxPleas {
		n.soon(tElect, now+1+n.jitter(n.cfg.Slot))
		return
	}
	n.send(Message{Kind: Repair, To: Nobody, Flags: flagRequest})
	n.set(tPlea, now+4*n.cfg.Slot)
}

// repairFor takes in an orphan, or passes a request for a new wave on to the root.
func (n *Node) repairFor(now Time, m *Message) {
	switch {
	case !m.has(flagRequest):
		n.adoptChild(now, m)
	case n.wave.newer(m.Wave) && n.saidHi:
		if nb := n.neighbour(m.From); !nb.nudged { // the wave is here already
			nb.nudged = true
			n.send(Message{Kind: Hello, To: m.From})
		}
	case m.Wave != n.wave || n.asked == n.wave || m.From == n.parent:
	case n.isRoot():
		n.asked = n.wave
		n.startWave(now, plan{flagHurry, n.next.lo, n.next.hi})
	case n.parent != Nobody:
		n.asked = n.wave
		n.send(Message{Kind: Repair, To: n.parent, Flags: flagRequest})
	}
}
