package data

import (
	"math"
	"math/bits"
)

// rounds of the Feistel network. Four suffice for large domains (Luby and Rackoff 1988);
// with halves of a few values the order of neighbours is visibly uneven up to eight rounds
// and as even as a shuffle's from twelve on.
const rounds = 16

// Permutation is a fixed pseudo-random bijection of 0..n-1 that needs no memory: any
// position can be asked at any time. It is the generalised Feistel network on Z_a × Z_b
// with cycle walking (Black and Rogaway, "Ciphers with arbitrary finite domains",
// CT-RSA 2002, methods 2 and 3), a·b being the smallest near-square that holds n.
type Permutation struct {
	n, a, b uint64
	keys    [rounds]uint64
}

// NewPermutation makes the permutation of n samples for an epoch of a run. n is positive.
func NewPermutation(n int, seed, epoch uint64) Permutation {
	a := uint64(math.Ceil(math.Sqrt(float64(n))))
	p := Permutation{n: uint64(n), a: a, b: (uint64(n) + a - 1) / a}
	r := NewRand(seed, epoch, 0, purposeKey("order"))
	for i := range p.keys {
		p.keys[i] = r.Uint64()
	}
	return p
}

// At gives the sample that stands at a position, which is from 0 to n-1.
func (p *Permutation) At(position int) int {
	x := p.encipher(uint64(position))
	for x >= p.n {
		x = p.encipher(x)
	}
	return int(x)
}

// encipher permutes 0..a·b-1. The number of rounds is even, so the halves end where they began.
func (p *Permutation) encipher(x uint64) uint64 {
	right, left := x/p.a, x%p.a
	for j := 0; j < rounds; j += 2 {
		left = addMod(left, reduce(mix(right^p.keys[j]), p.a), p.a)
		right = addMod(right, reduce(mix(left^p.keys[j+1]), p.b), p.b)
	}
	return p.a*right + left
}

// reduce maps 64 random bits to 0..m-1 by the high word of a product (Lemire 2019).
func reduce(x, m uint64) uint64 {
	hi, _ := bits.Mul64(x, m)
	return hi
}

// addMod adds two residues modulo m.
func addMod(x, y, m uint64) uint64 {
	if x += y; x >= m {
		x -= m
	}
	return x
}
