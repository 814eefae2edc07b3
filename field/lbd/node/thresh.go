package node

import "math"

// Hysteresis of the core, as a fraction of B in percent.
const (
	enterAbove = 110
	leaveBelow = 90
)

// chooseThreshold chooses B at the root and spreads it.
func (n *Node) chooseThreshold(now Time) {
	hist := n.hist()
	b, k := threshold(n.lo, n.hi, &hist, n.cfg.Budget, n.load())
	n.next = focus(n.lo, n.hi, k)
	n.b, n.known, n.ready, n.core, n.gate = b, true, true, true, gate{id: Nobody}
	n.spread(now)
	n.flush(now)
}

// focus is the plan of the next wave: its histogram looks closely at the loads around the bucket k of this one's threshold.
func focus(lo, hi uint32, k int) (p plan) {
	switch {
	case k == 0:
		p.lo, p.hi = lo/4, lo
	case k > fine:
		p.lo, p.hi = edge(lo, hi, k-1), min(edge(lo, hi, k), 1<<30)
	default:
		middle := float64(edge(lo, hi, k))
		p.lo, p.hi = uint32(middle/1.5), uint32(middle*2.2)
	}
	p.lo = max(p.lo, 1)
	p.hi = max(p.hi, p.lo+Buckets)
	return p
}

// decideCore decides anew, with hysteresis, whether the node belongs to the core when its load has changed in
// the course of a wave, and tells the children. The core hangs together: who has no parent in it is not in it.
func (n *Node) decideCore(now Time) {
	if !n.ready || n.isRoot() {
		return
	}
	if core := n.upCore && inCore(n.load(), n.b, n.core); core != n.core {
		n.core = core
		n.gate = n.under(gate{id: Nobody, weak: 255})
		n.spread(now)
		n.flush(now)
	}
}

// inCore is the rule with hysteresis.
func inCore(load, b uint32, was bool) bool {
	if was {
		return uint64(load)*100 >= uint64(b)*leaveBelow
	}
	return uint64(load)*100 > uint64(b)*enterAbove
}

// stays is the load that counts when B is chosen: somewhat more for those that belong to the core, so that they do not take turns with others that
// have nearly as much.
func stays(load uint32, was bool) uint32 {
	if was {
		return uint32(min(uint64(load)*100/leaveBelow, math.MaxUint32))
	}
	return load
}
