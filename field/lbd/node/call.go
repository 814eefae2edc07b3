package node

// How a threshold comes to those that hang from a node. The first THRESH goes to everybody in reach and lists the children it is for. Who is
// listed confirms it: one with children by passing it on, which the parent overhears, the others with a HELLO. Those that have not
// confirmed are listed again; the last ones, and one alone, get it as a unicast.

// maxBroadcasts bounds how often children are told together.
const maxBroadcasts = 3

// spread tells B and the core to all children.
func (n *Node) spread(now Time) {
	for i := range n.children {
		c := &n.children[i]
		c.core = n.core && stays(c.load, c.core) > n.b
		c.due = true
	}
	if n.call++; n.call == 0 {
		n.call = 1 // 0 stands for none
	}
	n.calls = 0
	n.callAgain(now)
}

// callAgain tells those that have not confirmed.
func (n *Node) callAgain(now Time) {
	due := 0
	for i := range n.children {
		if n.children[i].due {
			due++
		}
	}
	n.calls++
	if due == 0 {
		return
	}
	together := due > 1 && n.calls <= maxBroadcasts
	if together {
		n.set(tCall, now+4*n.cfg.Slot)
	}
	m, listed := n.threshold(), 0
	for i := range n.children {
		switch c := &n.children[i]; {
		case !c.due:
		case !together:
			n.tell(c)
		default:
			m.list(listed, c)
			if listed++; listed == Buckets {
				n.send(m)
				m, listed = n.threshold(), 0
			}
		}
	}
	if listed > 0 {
		n.send(m)
	}
}

// threshold is a THRESH for nobody yet.
func (n *Node) threshold() Message {
	m := Message{Kind: Thresh, To: Nobody, B: n.b, Call: n.call}
	for k := range m.Hist {
		m.Hist[k] = uint16(Nobody)
	}
	return m
}

// list enters a child in a THRESH.
func (m *Message) list(k int, c *child) {
	m.Hist[k] = uint16(c.id)
	if c.core {
		m.Lo |= 1 << k
	}
}

// find looks for a node in a THRESH.
func (m *Message) find(id ID) (core, listed bool) {
	for k, to := range m.Hist {
		if ID(to) == id {
			return m.Lo>>k&1 == 1, true
		}
	}
	return false, false
}

// tell sends THRESH to one child.
func (n *Node) tell(c *child) {
	m := n.threshold()
	m.list(0, c)
	m.To = c.id
	n.send(m)
}

// called ends a THRESH to one child.
func (n *Node) called(now Time, m *Message, ok bool) {
	c := n.child(m.To)
	switch {
	case c == nil || m.Wave != n.wave:
	case !ok:
		n.loseChild(now, m.To)
	case m.Call == n.call:
		c.due = false
	}
}

// confirmed takes note that a child has received the threshold.
func (n *Node) confirmed(m *Message) {
	if m.Wave != n.wave || m.Heard == 0 || m.Heard != n.call {
		return
	}
	if c := n.child(m.From); c != nil {
		c.due = false
	}
}

// takeThreshold takes B from the parent and passes it on.
func (n *Node) takeThreshold(now Time, m *Message) {
	core, listed := m.find(n.cfg.ID)
	if !listed || m.From != n.parent || m.Wave != n.wave {
		return
	}
	if m.From == n.caller && int8(m.Call-n.heardNo) <= 0 { // an old one, or the parent has missed that this node has it
		n.soon(tConfirm, now+1)
		return
	}
	n.caller, n.heardNo = m.From, m.Call
	n.b, n.known, n.ready, n.upCore, n.core = m.B, true, true, m.has(flagCore), core
	n.gate = n.under(gate{m.Gate, m.Top, m.Weak})
	if n.atSink {
		n.sending, n.atSink = 0, false
	}
	if m.To == Nobody && len(n.children) == 0 {
		n.set(tConfirm, now+1+n.jitter(n.cfg.Slot))
	}
	n.spread(now)
	n.flush(now)
}

// confirm tells the parent that the threshold has come.
func (n *Node) confirm(Time) {
	if n.parent != Nobody {
		n.send(Message{Kind: Hello, To: n.parent})
	}
}
