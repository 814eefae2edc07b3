package node

// Make gives the node packets of its own to be collected. One that leaves them to the sink greets its parent instead of sending
// them there: so it finds out whether that one is still alive.
func (n *Node) Make(now Time, packets uint32) {
	n.held += packets
	n.flush(now)
	if n.ready && n.parent != Nobody && (n.core || n.upCore) {
		n.send(Message{Kind: Hello, To: n.parent})
	}
}

// flush hands packets on to the parent, unless that is a stop or this node is one: then they wait for the sink.
func (n *Node) flush(now Time) {
	if n.held == 0 || n.sending > 0 || !n.known || n.core || n.upCore || n.parent == Nobody {
		return
	}
	n.handOn(n.parent)
}

func (n *Node) handOn(to ID) {
	n.sending, n.atSink = n.held, to == SinkID
	n.send(Message{Kind: Upload, To: to, Lo: n.seq + 1, Hi: n.seq + n.sending})
}

// handedOn ends an UPLOAD.
func (n *Node) handedOn(now Time, m *Message, ok bool) {
	if m.To == SinkID {
		return // ACK tells what arrived; the rest waits for the next visit
	}
	if ok {
		n.taken(m.Hi)
		n.flush(now)
		return
	}
	n.sending = 0
	if m.To == n.parent {
		n.orphaned(now)
	}
	n.flush(now)
}

// taken removes packets that somebody else has now.
func (n *Node) taken(last uint32) {
	n.held -= min(last-n.seq, n.held)
	n.seq, n.sending, n.atSink = last, 0, false
}

// takePackets receives packets from a child; those that were received before are not counted twice.
func (n *Node) takePackets(now Time, m *Message) {
	if c := n.child(m.From); c != nil {
		if m.Hi <= c.seq {
			return
		}
		if c.seq >= m.Lo {
			n.held += m.Hi - c.seq
		} else {
			n.held += m.Hi - m.Lo + 1
		}
		c.seq = m.Hi
	} else {
		n.held += m.Hi - m.Lo + 1 // its JOIN is still under way
	}
	n.flush(now)
}

// beacon is heard when the sink waits at a stop: the stop itself and its children that are none upload.
func (n *Node) beacon(now Time, m *Message) {
	if m.Peer == n.cfg.ID {
		n.nextChild = 0
	} else if n.parent != m.Peer || n.core {
		return
	}
	if n.atSink {
		n.sending, n.atSink = 0, false
	}
	if n.held > 0 {
		n.set(tUpload, now+1+n.jitter(n.cfg.Slot))
	}
}

// uploadToSink uploads what is held.
func (n *Node) uploadToSink(Time) {
	if n.held > 0 && n.sending == 0 {
		n.handOn(SinkID)
	}
}

// acknowledged frees what the sink has.
func (n *Node) acknowledged(m *Message) {
	if m.Hi > n.seq && m.Hi-n.seq <= n.held {
		n.taken(m.Hi)
	}
}

// nextStop answers the sink: the parent, or the next child that belongs to the core, heaviest first. While a
// wave is under way the sink has to wait.
func (n *Node) nextStop(m *Message) {
	if !n.ready {
		return
	}
	reply := Message{Kind: NextRep, To: SinkID, Peer: Nobody}
	if m.has(flagUp) {
		if !n.isRoot() {
			reply.Peer = n.parent
		}
		n.send(reply)
		return
	}
	if n.nextChild == 0 {
		n.sortChildren()
	}
	for n.nextChild < len(n.children) && reply.Peer == Nobody {
		if c := &n.children[n.nextChild]; c.core {
			reply.Peer = c.id
		}
		n.nextChild++
	}
	n.send(reply)
}

func (n *Node) sortChildren() {
	for i := 1; i < len(n.children); i++ {
		for k := i; k > 0 && n.children[k].load > n.children[k-1].load; k-- {
			n.children[k], n.children[k-1] = n.children[k-1], n.children[k]
		}
	}
}
