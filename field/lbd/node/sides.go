package node

import (
	"math"
	"math/bits"
)

// The sum of all distances from the root, weighted by load, falls when the root moves to a neighbour that lies on a shortest way to more than half
// of the load. To see that, each neighbour of the root marks what is behind it: it has one bit of a mask, and every node's mask is that of all its
// neighbours of lower rank together, so it has the bits of the root's neighbours on its shortest ways. The loads behind each bit
// are added up on the way back. Two neighbours may share a bit; which do changes from wave to wave.

// moveAt is the percentage of the whole load that must lie behind a neighbour for the root to move there; more than
// half, so that rounding and missed messages do not make it wander.
const moveAt = 55

// sideBit is the bit of a neighbour of the root.
func sideBit(id ID, w Wave) uint16 {
	return 1 << ((uint32(id)*0x9e3779b1 + w.Seq*0x85ebca6b) >> 28)
}

// mask has the bits of the root's neighbours on the node's shortest ways.
func (n *Node) mask() (mask uint16) {
	switch n.rank {
	case 0:
		return 0
	case 1:
		return sideBit(n.cfg.ID, n.wave)
	}
	for i := range n.nearby {
		if nb := &n.nearby[i]; nb.wave == n.wave && nb.rank < n.rank {
			mask |= nb.mask
		}
	}
	return mask
}

// sides is the load of the subtree behind each bit.
func (n *Node) sides() (s [Buckets]uint16) {
	for i := range n.children {
		for k, load := range n.children[i].sides {
			addCount(&s[k], load)
		}
	}
	for mask := n.mask(); mask != 0; mask &= mask - 1 {
		addCount(&s[bits.TrailingZeros16(mask)], uint16(min(n.cfg.Weight, math.MaxUint16)))
	}
	return s
}

// better is the neighbour of the root behind which more than half of the load lies, Nobody when there is none. Loads
// beyond 65,535 packets do not fit the sums, and the root stays.
func (n *Node) better() ID {
	whole := n.load()
	if whole > math.MaxUint16 {
		return Nobody
	}
	best, most := Nobody, whole*moveAt/100
	sides := n.sides()
	for i := range n.children {
		id := n.children[i].id
		bit := sideBit(id, n.wave)
		if load := uint32(sides[bits.TrailingZeros16(bit)]); load > most && n.alone(id, bit) {
			best, most = id, load
		}
	}
	return best
}

// alone tells whether no other child has the bit.
func (n *Node) alone(id ID, bit uint16) bool {
	for i := range n.children {
		if other := n.children[i].id; other != id && sideBit(other, n.wave) == bit {
			return false
		}
	}
	return true
}
