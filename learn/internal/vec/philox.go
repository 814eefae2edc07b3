package vec

import (
	"math"
	"math/bits"
)

// RandKey names a sequence of random words: who asks (Seed of the run, Layer), and when (Step).
// The word of an element depends on the key and the element's index alone, so a result does not
// depend on how a range is cut.
type RandKey struct {
	Seed, Step uint64
	Layer      uint32
}

// Words come in groups of 64: element i takes word i/16%4 of the Philox4x32-10 block number
// i/64·16 + i%16 (Salmon, Moraes, Dror and Shaw, SC 2011). Sixteen lanes thus make the 64 words of
// a group with no shuffling. Blocks are numbered in 32 bits: a tensor has at most 2³⁴ elements.
const group = 64

const (
	philoxM0, philoxM1 = 0xD2511F53, 0xCD9E8D57
	philoxW0, philoxW1 = 0x9E3779B9, 0xBB67AE85
	philoxRounds       = 10
)

// philox encrypts a counter under a key.
func philox(c [4]uint32, k0, k1 uint32) [4]uint32 {
	for range philoxRounds {
		h0, l0 := bits.Mul32(philoxM0, c[0])
		h1, l1 := bits.Mul32(philoxM1, c[2])
		c = [4]uint32{h1 ^ c[1] ^ k0, l1, h0 ^ c[3] ^ k1, l0}
		k0, k1 = k0+philoxW0, k1+philoxW1
	}
	return c
}

// words is the Philox block that holds the word of element i, and the word's place in it.
func (k RandKey) words(i int) (w [4]uint32, place int) {
	n := uint32(i/group*16 + i%16)
	c := [4]uint32{n, k.Layer, uint32(k.Step), uint32(k.Step >> 32)}
	return philox(c, uint32(k.Seed), uint32(k.Seed>>32)), i / 16 % 4
}

type (
	// dropoutKernel sets dst = x·scale where the upper 24 bits of the element's word are at least
	// threshold, else 0, for whole groups from Philox block number first on.
	dropoutKernel = func(dst, x []float32, first, layer, step0, step1, key0, key1, threshold uint32, scale float32)
	// uniformKernel sets dst = a + b·(upper 24 bits of the element's word) likewise.
	uniformKernel = func(dst []float32, first, layer, step0, step1, key0, key1 uint32, a, b float32)
)

// split cuts the elements [first, first+n) into a head that ends at a group's boundary, whole
// groups, and a rest.
func split(first, n int) (head, whole int) {
	head = min((group-first%group)%group, n)
	return head, (n - head) / group * group
}

// Dropout sets dst[i] = x[i]/(1-rate) where element first+i is kept and 0 where it is dropped, with
// probability rate in [0, 1). The gradient is the same function of dy under the same key.
func Dropout(dst, x []float32, key RandKey, first int, rate float32) {
	x = x[:len(dst)]
	threshold := uint32(math.Ceil(float64(rate) * (1 << 24)))
	scale := float32(1 / (1 - float64(rate)))
	head, whole := split(first, len(dst))
	dropoutSome(dst[:head], x[:head], key, first, threshold, scale)
	f := dropoutTab.pick()
	for at := head; at < head+whole; at += block {
		end := min(at+block, head+whole)
		f(dst[at:end], x[at:end], uint32((first+at)/group*16), key.Layer, uint32(key.Step), uint32(key.Step>>32),
			uint32(key.Seed), uint32(key.Seed>>32), threshold, scale)
	}
	at := head + whole
	dropoutSome(dst[at:], x[at:], key, first+at, threshold, scale)
}

func dropoutSome(dst, x []float32, key RandKey, first int, threshold uint32, scale float32) {
	for i := range dst {
		w, place := key.words(first + i)
		if w[place]>>8 >= threshold {
			dst[i] = x[i] * scale
		} else {
			dst[i] = 0
		}
	}
}

// Uniform sets dst[i] to the number of element first+i, evenly distributed over [lo, hi) in steps
// of 2⁻²⁴ of the interval.
func Uniform(dst []float32, key RandKey, first int, lo, hi float32) {
	step := (hi - lo) * 0x1p-24
	head, whole := split(first, len(dst))
	uniformSome(dst[:head], key, first, lo, step)
	f := uniformTab.pick()
	for at := head; at < head+whole; at += block {
		end := min(at+block, head+whole)
		f(dst[at:end], uint32((first+at)/group*16), key.Layer, uint32(key.Step), uint32(key.Step>>32),
			uint32(key.Seed), uint32(key.Seed>>32), lo, step)
	}
	at := head + whole
	uniformSome(dst[at:], key, first+at, lo, step)
}

func uniformSome(dst []float32, key RandKey, first int, a, b float32) {
	for i := range dst {
		w, place := key.words(first + i)
		dst[i] = a + float32(b*float32(w[place]>>8)) // rounded twice on every machine
	}
}

func dropoutGeneric(dst, x []float32, first, layer, step0, step1, key0, key1, threshold uint32, scale float32) {
	for at := 0; at < len(dst); at += group {
		for lane := range 16 {
			w := philox([4]uint32{first + uint32(at/group*16+lane), layer, step0, step1}, key0, key1)
			for k, v := range w {
				i := at + 16*k + lane
				if v>>8 >= threshold {
					dst[i] = x[i] * scale
				} else {
					dst[i] = 0
				}
			}
		}
	}
}

func uniformGeneric(dst []float32, first, layer, step0, step1, key0, key1 uint32, a, b float32) {
	for at := 0; at < len(dst); at += group {
		for lane := range 16 {
			w := philox([4]uint32{first + uint32(at/group*16+lane), layer, step0, step1}, key0, key1)
			for k, v := range w {
				dst[at+16*k+lane] = a + float32(b*float32(v>>8))
			}
		}
	}
}
