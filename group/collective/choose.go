package collective

import (
	"fmt"
	"math"
	"strings"
)

// Model is what it costs to pass a frame on: α seconds and β seconds a byte (Hockney 1994).
type Model struct{ Alpha, Beta float64 }

// DefaultModel is assumed before anything is measured: processes of one machine.
var DefaultModel = Model{Alpha: 20e-6, Beta: 0.4e-9}

// handling is the part of α that the sender or receiver is busy: what each further frame costs a member that serves
// many at once.
const handling = 0.25

// inMemory is what a member needs for a byte of its vector in shared memory, over what it is to pass one on: copies and sums
// without system calls.
const inMemory = 0.25

// Choice is an algorithm and why.
type Choice struct {
	Kind      Kind
	Algorithm Algorithm
	Members   int
	Bytes     int // of a member's source; of the whole for a broadcast
	Model     Model
	Seconds   [Shared + 1]float64 // expected of each algorithm; 0 where it cannot do it
}

// Choose picks the algorithm that the model expects to be fastest, of those between members that share memory or not.
func Choose(k Kind, n, bytes int, m Model, shared bool) Choice {
	c := Choice{Kind: k, Members: n, Bytes: bytes, Model: m}
	for a := Ring; a <= Shared; a++ {
		if !a.Can(k) || a == Shared && !shared || bytes == 0 && a == Ring && k == AllReduce {
			continue
		}
		c.Seconds[a] = cost(k, a, n, float64(bytes), m)
		if c.Algorithm == Auto || c.Seconds[a] < c.Seconds[c.Algorithm] {
			c.Algorithm = a
		}
	}
	return c
}

// cost is the time that an algorithm is expected to take for s bytes. What is longer than a slice is passed on
// slice by slice, so that only the first one's way counts in full.
func cost(k Kind, a Algorithm, members int, s float64, m Model) float64 {
	n, α, β := float64(members), m.Alpha, m.Beta
	switch {
	case members == 1:
		return 0
	case a == Shared:
		return costShared(k, n, s, m)
	}
	depth := math.Floor(math.Log2(n))
	below := math.Min(2, n-1) // children of the tree's root
	first := math.Min(s, sliceBytes)
	rest := s - first
	many := (n - 2) * handling * α        // more at a star's centre
	level := α * (1 + (below-1)*handling) // of a tree
	switch k {
	case AllReduce, Barrier:
		switch a {
		case Ring:
			return 2 * (n - 1) * (α + s*β/n)
		case HalvingDoubling:
			p := float64(powerBelow(members))
			t := 2*math.Log2(p)*α + 2*(p-1)/p*s*β
			if n > p {
				t += 2 * (α + s*β)
			}
			return t
		case Tree:
			return 2*depth*(level+below*first*β) + (1+below)*rest*β
		}
		return 2*(α+many) + 2*(n-1)*s*β
	case ReduceScatter:
		if a == Ring {
			return (n - 1) * (α + s*β/n)
		}
		return 2*(α+many) + (n-1)*s*β + (n-1)/n*s*β
	case AllGather:
		if a == Ring {
			return (n - 1) * (α + s*β)
		}
		return 2*(α+many) + n*(n-1)*s*β
	}
	switch a { // a broadcast, for which the root is asked first
	case Ring:
		return 2*(n-1)*α + (n-1)*first*β + rest*β
	case Tree:
		return 2*depth*level + depth*below*first*β + below*rest*β
	}
	return 2*(α+many) + (n-1)*s*β
}

// costShared is the time in shared memory: a hop to member 0, one back and one for marks, and each member's passes over vectors.
func costShared(k Kind, n, s float64, m Model) float64 {
	passes := 1.0
	switch k {
	case AllReduce:
		passes = 2
	case AllGather:
		passes = n
	}
	return 3*(1+(n-2)*handling)*m.Alpha + passes*s*inMemory*m.Beta
}

// Reason explains the choice in words and numbers.
func (c Choice) Reason() string {
	var others []string
	for a := Ring; a <= Shared; a++ {
		if c.Seconds[a] > 0 && a != c.Algorithm {
			others = append(others, fmt.Sprintf("%v %.3g ms", a, 1e3*c.Seconds[a]))
		}
	}
	text := fmt.Sprintf("%v is expected to take %.3g ms for %d bytes over %d members (α %.3g µs, β %.3g ns/B)",
		c.Algorithm, 1e3*c.Seconds[c.Algorithm], c.Bytes, c.Members, 1e6*c.Model.Alpha, 1e9*c.Model.Beta)
	if len(others) > 0 {
		text += "; " + strings.Join(others, ", ")
	}
	return text
}

// Sample is a measured exchange: Hops frames in a row and Bytes passed on in a row took Seconds.
type Sample struct{ Hops, Bytes, Seconds float64 }

// Fit finds the model that comes closest to the samples, by least squares of relative errors. Both its numbers
// are positive.
func Fit(samples []Sample) (Model, error) {
	var hh, hb, bb, h, b float64
	for _, s := range samples {
		if !(s.Seconds > 0) || math.IsInf(s.Seconds, 0) {
			return Model{}, fmt.Errorf("collective: an exchange of %g s", s.Seconds)
		}
		x, y := s.Hops/s.Seconds, s.Bytes/s.Seconds
		hh, hb, bb, h, b = hh+x*x, hb+x*y, bb+y*y, h+x, b+y
	}
	det := hh*bb - hb*hb
	if !(det > 1e-9*hh*bb) {
		return Model{}, fmt.Errorf("collective: %d samples do not tell α from β", len(samples))
	}
	const least = 1e-12 // seconds: a link that is free cannot be compared
	return Model{Alpha: math.Max((h*bb-b*hb)/det, least), Beta: math.Max((b*hh-h*hb)/det, least*1e-3)}, nil
}
