package collective

import (
	"fmt"
	"math/bits"

	"millrace.dev/group/reduce"
)

// Algorithm is how the members exchange frames. S is the number of bytes of the vector and n that of members; a
// number of hops counts frames that must follow each other.
type Algorithm uint8

const (
	// Auto lets Choose decide.
	Auto Algorithm = iota
	// Ring cuts the vector in n segments that go around, summed on the way, and around again as results.
	// All-reduce: 2(n-1) hops, 2S(n-1)/n bytes sent by each member, the least possible. Reduce-scatter and
	// all-gather are a lap each; a broadcast goes from member to member.
	Ring
	// HalvingDoubling exchanges halves with the member half of all away, quarters with that a quarter away
	// and so on, and back: 2·log₂ n hops and 2S(n-1)/n bytes. Where n is no power of two, each of those beyond hands
	// its vector to one within first and gets the result last: 2 hops and up to 2S more. All-reduce only.
	HalvingDoubling
	// Tree passes the vector up a binary tree, summed on the way, and down: 2·log₂ n hops of S bytes, and
	// up to 3S sent by a member.
	Tree
	// Star has member 0, or the root, do it all: 2 hops, and S(n-1) bytes each way there.
	Star
	// Shared has the members put what others need into memory that all read, and sum a part each; no bytes are sent. For
	// members of one machine.
	Shared
)

var algorithmNames = [...]string{"auto", "ring", "halving-doubling", "tree", "star", "shared"}

func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

// Can reports whether an algorithm can do an operation.
func (a Algorithm) Can(k Kind) bool {
	switch k {
	case AllReduce:
		return a >= Ring && a <= Shared
	case Broadcast:
		return a == Ring || a == Tree || a == Star || a == Shared
	case ReduceScatter, AllGather:
		return a == Ring || a == Star || a == Shared
	case Barrier:
		return a == HalvingDoubling || a == Tree || a == Star
	}
	return false
}

// summingAs is how training steps call the orders of the algorithms' sums.
var summingAs = [...]reduce.Algorithm{Ring: reduce.Ring, HalvingDoubling: reduce.HalvingDoubling, Tree: reduce.Tree, Star: reduce.Star, Shared: reduce.Shared}

// Order lists the merges by which an algorithm reduces over n members, and the member whose sum the result then
// is. The order is the same for all elements but with Ring, where it is that of segment j, as Part cuts the vector.
func Order(a Algorithm, n, j int) (merges []reduce.Merge, result int) {
	return reduce.Order(summingAs[a], n, (j+1)%n)
}

// powerBelow is the largest power of two that is not above n.
func powerBelow(n int) int { return 1 << (bits.Len(uint(n)) - 1) }
