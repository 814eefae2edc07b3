package reduce

import "fmt"

// Algorithm is a way to reduce a step; it decides in which order the members' gradients are added.
type Algorithm uint8

const (
	// Ring passes partial sums around: in each chunk, segment j is summed by ranks j+1, j+2, …, j (mod n) in this
	// order.
	Ring Algorithm = iota + 1
	// Shared reads all members' memory: every element is summed in the order of the ranks.
	Shared
)

func (a Algorithm) String() string {
	switch a {
	case Ring:
		return "ring"
	case Shared:
		return "shared"
	}
	return fmt.Sprintf("algorithm(%d)", uint8(a))
}

// MarshalText and UnmarshalText give an algorithm its name in logs.
func (a Algorithm) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (a *Algorithm) UnmarshalText(text []byte) error {
	for _, known := range []Algorithm{Ring, Shared} {
		if known.String() == string(text) {
			*a = known
			return nil
		}
	}
	return fmt.Errorf("reduce: unknown algorithm %q", text)
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
	First  int // ranks First, First+1, … (mod n) are added from left to right
}

// Spans lists, in ascending order, the spans of a vector of the given number of elements reduced by n members.
func Spans(a Algorithm, n, elements int) ([]Span, error) {
	if n < 1 || elements < 0 {
		return nil, fmt.Errorf("reduce: %d members and %d elements", n, elements)
	}
	var spans []Span
	switch a {
	case Shared:
		if elements > 0 {
			spans = append(spans, Span{0, elements, 0})
		}
	case Ring:
		for lo := 0; lo < elements; lo += Chunk {
			for j := range n {
				if from, to := Segment(elements, lo, j, n); from < to {
					spans = append(spans, Span{from, to, (j + 1) % n})
				}
			}
		}
	default:
		return nil, fmt.Errorf("reduce: %v has no order of sums", a)
	}
	return spans, nil
}
