package reduce

import (
	"fmt"
	"math/bits"
)

// Algorithm is a way to reduce a step; it decides in which order the members' gradients are added.
type Algorithm uint8

const (
	// Ring passes partial sums around: in each chunk, segment j is summed by ranks j+1, j+2, …, j (mod n) in this
	// order.
	Ring Algorithm = iota + 1
	// Shared reads all members' memory: every element is summed in the order of the ranks.
	Shared
	// HalvingDoubling adds, with p the largest power of two that is not above n, rank p+k to rank k, and then rank k+d
	// to rank k for all k < d and d = p/2, p/4, …, 1.
	HalvingDoubling
	// Tree adds ranks 2k+1 and 2k+2, each with what is below it, to rank k.
	Tree
	// Star adds at rank 0, in the order of the ranks.
	Star
)

var names = [...]string{Ring: "ring", Shared: "shared", HalvingDoubling: "halving-doubling", Tree: "tree", Star: "star"}

func (a Algorithm) String() string {
	if a > 0 && int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

// MarshalText and UnmarshalText give an algorithm its name in logs.
func (a Algorithm) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (a *Algorithm) UnmarshalText(text []byte) error {
	for known, name := range names {
		if known > 0 && name == string(text) {
			*a = Algorithm(known)
			return nil
		}
	}
	return fmt.Errorf("reduce: unknown algorithm %q", text)
}

// Merge is a step of a sum: that of member Into becomes Into + From, in this order.
type Merge struct{ Into, From int }

// Order lists the merges by which n members add up, and the member whose sum is the result. For a ring, first is
// the member that a segment's way begins at; for the others it does not count.
func Order(a Algorithm, n, first int) (merges []Merge, result int) {
	switch a {
	case Ring:
		for k := 1; k < n; k++ {
			merges = append(merges, Merge{first, (first + k) % n})
		}
		return merges, first
	case HalvingDoubling:
		p := 1 << (bits.Len(uint(n)) - 1)
		for k := p; k < n; k++ {
			merges = append(merges, Merge{k - p, k})
		}
		for d := p / 2; d > 0; d /= 2 {
			for k := range d {
				merges = append(merges, Merge{k, k + d})
			}
		}
	case Tree:
		for k := (n - 2) / 2; k >= 0 && n > 1; k-- {
			for c := 2*k + 1; c <= 2*k+2 && c < n; c++ {
				merges = append(merges, Merge{k, c})
			}
		}
	default:
		for k := 1; k < n; k++ {
			merges = append(merges, Merge{0, k})
		}
	}
	return merges, 0
}

// align is the granularity of a segment's bounds in elements: a cache line.
const align = 16

// Segment gives the bounds of segment j of n in the chunk that starts at element lo of a vector: near-equal parts
// on cache lines, the last of which may be short or empty.
func Segment(elements, lo, j, n int) (from, to int) {
	size := min(Chunk, elements-lo)
	lines := (size + align - 1) / align
	at := func(j int) int { return lo + min(size, lines*j/n*align) }
	return at(j), at(j + 1)
}

// Span is a range of elements that are all summed in the same order.
type Span struct {
	Lo, Hi int
	First  int // of Order, for a ring
}

// Spans lists, in ascending order, the spans of a vector of the given number of elements reduced by n members.
func Spans(a Algorithm, n, elements int) ([]Span, error) {
	if n < 1 || elements < 0 || a < Ring || a > Star {
		return nil, fmt.Errorf("reduce: %v of %d elements over %d members", a, elements, n)
	}
	if a != Ring {
		return []Span{{Hi: elements}}, nil
	}
	var spans []Span
	for lo := 0; lo < elements; lo += Chunk {
		for j := range n {
			if from, to := Segment(elements, lo, j, n); from < to {
				spans = append(spans, Span{from, to, (j + 1) % n})
			}
		}
	}
	return spans, nil
}
