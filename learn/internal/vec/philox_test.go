package vec

import (
	"math"
	"testing"
)

// TestPhiloxKnownAnswers: the vectors published with Random123.
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, k := range []struct {
		c, want [4]uint32
		k0, k1  uint32
	}{
		{[4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, 0, 0},
		{[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, 0xffffffff, 0xffffffff},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, 0xa4093822, 0x299f31d0},
	} {
		if got := philox(k.c, k.k0, k.k1); got != k.want {
			t.Errorf("philox(%x) = %x, want %x", k.c, got, k.want)
		}
	}
}

var testKey = RandKey{Seed: 0x0123456789abcdef, Step: 7<<32 | 5, Layer: 3}

// TestRandomDoesNotDependOnChunks: any cut, at every level, gives each element the same number.
func TestRandomDoesNotDependOnChunks(t *testing.T) {
	const n, first = 3*block + 500, 1000
	rng := newRand()
	x := make([]float32, n)
	random(rng, x)
	whole := map[string][]float32{}
	fill := map[string]func(dst []float32, at int){
		"uniform": func(dst []float32, at int) { Uniform(dst, testKey, first+at, -2, 3) },
		"normal":  func(dst []float32, at int) { Normal(dst, testKey, first+at, 1, 2) },
		"dropout": func(dst []float32, at int) { Dropout(dst, x[at:], testKey, first+at, 0.3) },
	}
	f := newFence(t)
	eachLevel(t, func(t *testing.T) {
		for name, fn := range fill {
			got := cut[float32](f, n, true)
			fn(got, 0)
			if whole[name] == nil {
				whole[name] = append([]float32(nil), got...)
			}
			pieces := make([]float32, n)
			ranges(rng, n, func(lo, hi int) {
				hi = min(hi, lo+200)
				for lo < hi {
					end := min(hi, lo+1+rng.IntN(150))
					fn(pieces[lo:end], lo)
					lo = end
				}
			})
			ranges(rng, n, func(lo, hi int) { fn(pieces[lo:hi], lo) })
			for i := range got {
				if got[i] != whole[name][i] || pieces[i] != got[i] {
					t.Fatalf("%s element %d: %g alone, %g in pieces, %g at the first level", name, i, got[i], pieces[i], whole[name][i])
				}
			}
			if !f.intact(4*n, true) {
				t.Fatalf("%s wrote outside", name)
			}
		}
	})
}

// TestRandomMoments: mean, variance and rate lie within six standard errors, and other keys give
// other numbers.
func TestRandomMoments(t *testing.T) {
	const n = 1 << 17
	u, z, ones := make([]float32, n), make([]float32, n), make([]float32, n)
	Uniform(u, testKey, 0, 0, 1)
	Normal(z, testKey, 0, 0, 1)
	Fill(ones, 1)
	mean, variance := column64(u, n, 1, 0)
	if math.Abs(mean-0.5) > 6*0.289/math.Sqrt(n) || math.Abs(variance-1./12) > 6*0.0746/math.Sqrt(n) {
		t.Errorf("uniform: mean %g, variance %g", mean, variance)
	}
	for i, v := range u {
		if v < 0 || v >= 1 {
			t.Fatalf("uniform %d is %g", i, v)
		}
	}
	mean, variance = column64(z, n, 1, 0)
	if math.Abs(mean) > 6/math.Sqrt(n) || math.Abs(variance-1) > 6*math.Sqrt2/math.Sqrt(n) {
		t.Errorf("normal: mean %g, variance %g", mean, variance)
	}
	var cov float64
	for i := 0; i+16 < n; i++ {
		cov += float64(z[i]) * float64(z[i+16]) / n // neighbours in a block share the angle's partner
	}
	if math.Abs(cov) > 6/math.Sqrt(n) {
		t.Errorf("normal numbers 16 apart have covariance %g", cov)
	}
	for _, rate := range []float32{0, 0.1, 0.5, 0.9} {
		Dropout(u, ones, testKey, 0, rate)
		kept := 0.0
		for _, v := range u {
			if v != 0 {
				kept++
				if !near(v, 1/(1-float64(rate)), 1e-6, 1) {
					t.Fatalf("rate %g scales by %g", rate, v)
				}
			}
		}
		if p := float64(1 - rate); math.Abs(kept/n-p) > 6*math.Sqrt(p*(1-p)/n) {
			t.Errorf("rate %g keeps %g", rate, kept/n)
		}
	}
	for _, other := range []RandKey{{Seed: testKey.Seed + 1, Step: testKey.Step, Layer: 3}, {Seed: testKey.Seed, Step: 6<<32 | 5, Layer: 3},
		{Seed: testKey.Seed, Step: testKey.Step + 1, Layer: 3}, {Seed: testKey.Seed, Step: testKey.Step, Layer: 4}} {
		a, b := make([]float32, 256), make([]float32, 256)
		Uniform(a, testKey, 0, 0, 1)
		Uniform(b, other, 0, 0, 1)
		same := 0
		for i := range a {
			if a[i] == b[i] {
				same++
			}
		}
		if same > 2 {
			t.Errorf("keys %+v and %+v share %d of 256 numbers", testKey, other, same)
		}
	}
}

func TestRandomAllocatesNothing(t *testing.T) {
	x := make([]float32, 1000)
	if n := testing.AllocsPerRun(10, func() {
		Uniform(x, testKey, 5, 0, 1)
		Normal(x, testKey, 5, 0, 1)
		Dropout(x, x, testKey, 5, 0.5)
	}); n != 0 {
		t.Errorf("random numbers allocate %v times", n)
	}
}
