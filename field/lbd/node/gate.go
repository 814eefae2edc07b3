package node

import "math"

// How loads come out even. A node that is not visited but whose parent is, is a gate: all that hangs from it goes through it, so gates have the
// largest loads of those that are not visited. THRESH tells each node its gate and the cost of the costliest node on its way there, HELLO tells
// the neighbours. Before each wave some nodes turn to a neighbour behind another gate where that leaves the larger of both costs clearly
// smaller, or to a neighbour that is visited, and so become gates themselves.

// gate is where a node's way enters the core.
type gate struct {
	id   ID     // Nobody: not known, or the node is visited
	top  uint32 // largest cost on the way from the node to the gate, both included
	weak uint8  // least energy on that way
}

// cost is what packets are to a node with that much energy left; with a full battery it is their number.
func cost(packets uint32, energy uint8) uint32 {
	return uint32(min(uint64(packets)*255/uint64(max(energy, 1)), math.MaxUint32))
}

// under is the node's gate when its parent has gate g.
func (n *Node) under(g gate) gate {
	own := cost(n.load(), n.energy)
	switch {
	case n.core:
		return gate{id: Nobody}
	case n.upCore:
		return gate{n.cfg.ID, own, n.energy}
	}
	return gate{g.id, max(g.top, own), min(g.weak, n.energy)}
}

// topBelow is the largest cost on this node's way if it and all that hangs from it turned to the neighbour.
func (n *Node) topBelow(nb *neighbour) uint32 {
	own := cost(n.load(), n.energy)
	switch {
	case nb.core:
		return own
	case nb.gate.id == Nobody:
		return math.MaxUint32
	}
	more := uint64(nb.gate.top) + uint64(cost(n.load(), nb.gate.weak))
	return max(own, uint32(min(more, math.MaxUint32)))
}

// A node turns to another parent when the largest cost on its way falls to turnBelow percent at most, and when its turn comes: it
// does for one in turnOf nodes in a wave, because too many would meet behind the same gate otherwise.
const (
	turnBelow = 90
	turnOf    = 3
)

// turnTo is the parent that the node wants in the wave to come: most often the one that it has.
func (n *Node) turnTo(next Wave) ID {
	if !n.ready || n.core || n.upCore || n.parent == Nobody || !gives(n.gate.id, next.Seq) || hash(uint32(n.cfg.ID), next.Seq)%turnOf != 0 {
		return n.parent
	}
	best, least := n.parent, uint32(uint64(n.gate.top)*turnBelow/100)
	for i := range n.nearby {
		nb := &n.nearby[i]
		if nb.wave != n.wave && nb.wave != next || !nb.core && (nb.gate.id == Nobody || nb.gate.id == n.gate.id || gives(nb.gate.id, next.Seq)) {
			continue
		}
		if top := n.topBelow(nb); top <= least {
			best, least = nb.id, top-min(top, 1)
		}
	}
	return best
}

// gives tells whether nodes may turn away from a gate in a wave; the others may be turned to. In two waves that follow each
// other every gate does both.
func gives(gate ID, seq uint32) bool { return hash(uint32(gate), seq/2)&1 == seq&1 }

// hash mixes two numbers.
func hash(a, b uint32) uint32 {
	h := (uint64(a)+1)*0x9e3779b97f4a7c15 ^ uint64(b)*0xc2b2ae3d27d4eb4f
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	return uint32(h >> 32)
}
