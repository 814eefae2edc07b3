package node

// Hysteresis of the core, as a fraction of B in percent.
const (
	enterAbove = 110
	leaveBelow = 90
)

// aimPercent is what the next wave aims at, of the threshold that this one reached.
const aimPercent = 90

// chooseThreshold chooses B at the root and spreads it. B stays unless it changes by more than the hysteresis.
func (n *Node) chooseThreshold(now Time) {
	hist := n.hist()
	b, k := threshold(n.lo, n.hi, &hist, n.cfg.Budget, n.load())
	n.next = focus(n.lo, n.hi, k, b)
	fresh := !n.known || uint64(b)*100 > uint64(n.b)*enterAbove || uint64(b)*100 < uint64(n.b)*leaveBelow
	flags := uint16(0)
	if n.bestB == 0 || b < n.bestB {
		n.bestB, flags = b, flagKeep
	}
	n.bestB += n.bestB/bestFades + 1 // what was best may have become impossible
	if fresh {
		n.b, flags = b, flags|flagFresh
	}
	n.known, n.ready, n.core = true, true, true
	n.spread(flags)
	n.flush(now)
}

// bestFades is the part of the best threshold by which it grows in an epoch.
const bestFades = 50

// focus is the plan of the next wave: it aims a little lower than what this one reached, and its histogram looks
// closely at the loads around the bucket k of this one's threshold.
func focus(lo, hi uint32, k int, b uint32) plan {
	p := plan{aim: uint32(uint64(b) * aimPercent / 100)}
	switch {
	case k == 0:
		p.lo, p.hi = lo/4, lo
	case k > fine:
		p.lo, p.hi = edge(lo, hi, k-1), min(edge(lo, hi, k), 1<<30)
	default:
		middle := float64(edge(lo, hi, k))
		p.lo, p.hi = uint32(middle/1.5), uint32(middle*1.3)
	}
	p.lo = max(p.lo, 1)
	p.hi = max(p.hi, p.lo+Buckets)
	return p
}

// takeThreshold takes B from the parent and passes it on.
func (n *Node) takeThreshold(now Time, m *Message) {
	if m.From != n.parent || m.Wave != n.wave {
		return
	}
	n.b, n.known, n.ready, n.upCore = m.B, true, true, m.has(flagCore)
	n.core = n.upCore && inCore(n.load(), n.b, n.core, m.has(flagFresh))
	if n.atSink {
		n.sending, n.atSink = 0, false
	}
	n.spread(m.Flags & (flagFresh | flagKeep))
	n.flush(now)
}

// spread sends B to the children, and remembers the tree when it is the best so far.
func (n *Node) spread(flags uint16) {
	if flags&flagKeep != 0 {
		n.kept, n.keptCore = n.parent, n.core
		for i := range n.nearby {
			if nb := &n.nearby[i]; nb.wave == n.wave {
				nb.kept = nb.load
			}
		}
	}
	for i := range n.children {
		c := &n.children[i]
		c.core = n.core && inCore(c.load, n.b, c.core, flags&flagFresh != 0)
		n.send(Message{Kind: Thresh, To: c.id, B: n.b, Flags: flags})
	}
}

// decideCore decides anew, with hysteresis, whether the node belongs to the core when its load has changed in
// the course of a wave, and tells the children. The core hangs together: who has no parent in it is not in it.
func (n *Node) decideCore(now Time) {
	if !n.known || !n.settled || n.isRoot() {
		return
	}
	if core := n.upCore && inCore(n.load(), n.b, n.core, false); core != n.core {
		n.core = core
		n.spread(0)
		n.flush(now)
	}
}

// inCore is the rule with hysteresis, without when fresh.
func inCore(load, b uint32, was, fresh bool) bool {
	switch l, t := uint64(load)*100, uint64(b); {
	case fresh:
		return load > b
	case was:
		return l >= t*leaveBelow
	default:
		return l > t*enterAbove
	}
}
