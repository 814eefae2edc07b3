package vec

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"
)

// TestNormalAgainstFloat64: the float32 arithmetic follows the transform closely.
func TestNormalAgainstFloat64(t *testing.T) {
	rng := newRand()
	words := [][2]uint32{{0, 0}, {math.MaxUint32, math.MaxUint32}, {0, 1 << 31}, {1 << 31, 1 << 30}, {255, 1 << 29}, {256, 3 << 29}}
	for range 20000 {
		words = append(words, [2]uint32{rng.Uint32(), rng.Uint32()})
	}
	for _, w := range words {
		r := math.Sqrt(-2 * math.Log((float64(w[0]>>8)+0.5)*0x1p-24))
		sin, cos := math.Sincos(2 * math.Pi * float64(w[1]>>8) * 0x1p-24)
		got := normalPair(w[0], w[1])
		tol := 1e-6 * (1 + r + 0.1/r) // a small r rests on the difference of the rounded word from 1
		if math.Abs(float64(got[0])-r*cos) > tol || math.Abs(float64(got[1])-r*sin) > tol {
			t.Fatalf("words %#x give %g, want %g, %g", w, got, r*cos, r*sin)
		}
	}
	if z := normalPair(math.MaxUint32, 77); z[0]-z[0] != 0 || math.Abs(float64(z[0])) > 1e-3 {
		t.Errorf("the largest word gives %g", z)
	}
}

// TestRandomIsTheSameEverywhere: weights and masks drawn on another machine, with another
// instruction set or processor, have the same bits.
func TestRandomIsTheSameEverywhere(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			fill func(dst []float32)
			sum  uint32
		}{
			{"Normal", func(dst []float32) { Normal(dst, testKey, 17, 0.5, 1.25) }, 0x1ecec581},
			{"Uniform", func(dst []float32) { Uniform(dst, testKey, 17, -0.1, 0.7) }, 0x8f80d885},
			{"Dropout", func(dst []float32) { Fill(dst, 1.5); Dropout(dst, dst, testKey, 17, 0.35) }, 0x290e78a1},
		} {
			x := make([]float32, 5000)
			c.fill(x)
			h := crc32.NewIEEE()
			for _, v := range x {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
			if got := h.Sum32(); got != c.sum {
				t.Errorf("%s: checksum %#08x, want %#08x", c.name, got, c.sum)
			}
		}
	})
}
