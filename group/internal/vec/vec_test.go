package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"millrace.dev/internal/cpu"
)

// eachLevel runs a test at every level of the machine.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, level := range cpu.Levels() {
		t.Run(level.String(), func(t *testing.T) {
			defer cpu.Set(level)()
			f(t)
		})
	}
}

// lengths are all tails, and ranges longer than a block.
func lengths() []int {
	n := []int{block - 1, block, block + 17, 1000}
	for i := range 150 {
		n = append(n, i)
	}
	return n
}

// fill draws numbers of all magnitudes: tiny ones whose products are denormal, and huge ones.
func fill(rng *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(rng.NormFloat64())
		switch rng.IntN(8) {
		case 0:
			x[i] *= 1e-38
		case 1:
			x[i] *= 1e30
		}
	}
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: element %d of %d is %g, want %g", what, i, len(want), got[i], want[i])
		}
	}
}

func TestSameBitsAtEveryLevel(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, n := range lengths() {
			a, b, want, got := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			fill(rng, a)
			fill(rng, b)
			ma, mb, scale := float32(rng.IntN(70)), float32(rng.IntN(70)), float32(1)/float32(1+rng.IntN(100))

			weightedSumGeneric(want, a, b, ma, mb)
			WeightedSum(got, a, b, ma, mb)
			same(t, "WeightedSum", got, want)

			finite := weightedMeanGeneric(want, a, b, ma, mb, scale)
			if f := WeightedMean(got, a, b, ma, mb, scale); f != finite {
				t.Fatalf("WeightedMean of %d elements says finite = %v", n, f)
			}
			same(t, "WeightedMean", got, want)

			finite = scaledGeneric(want, a, ma, scale)
			if f := Scaled(got, a, ma, scale); f != finite {
				t.Fatalf("Scaled of %d elements says finite = %v", n, f)
			}
			same(t, "Scaled", got, want)

			weightedSumGeneric(want, a, b, ma, mb)
			copy(got, a)
			WeightedSum(got, got, b, ma, mb)
			same(t, "WeightedSum in place of a", got, want)
			copy(got, b)
			WeightedSum(got, a, got, ma, mb)
			same(t, "WeightedSum in place of b", got, want)
		}
	})
}

func TestFindsEveryElementThatIsNotFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		inf := float32(math.Inf(1))
		for _, n := range []int{1, 7, 8, 31, 64, 100, block + 9} {
			a, b, r := make([]float32, n), make([]float32, n), make([]float32, n)
			if !WeightedMean(r, a, b, 1, 1, 1) || !Scaled(r, a, 1, 1) {
				t.Fatal("zeros are not finite")
			}
			for i := 0; i < n; i += 1 + n/200 {
				for _, v := range []float32{inf, -inf, inf - inf} {
					a[i] = v
					if WeightedMean(r, a, b, 1, 1, 1) || WeightedMean(r, b, a, 1, 1, 1) || Scaled(r, a, 1, 1) {
						t.Fatalf("%g at %d of %d was missed", v, i, n)
					}
				}
				a[i] = 0
			}
			a[n-1], b[n-1] = math.MaxFloat32, math.MaxFloat32
			if WeightedMean(r, a, b, 1, 1, 0.5) {
				t.Fatal("an overflow was missed")
			}
		}
	})
}

func TestMean(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for range 200 {
			n, workers := rng.IntN(2*block), 1+rng.IntN(6)
			g, m := make([][]float32, workers), make([]float32, workers)
			total := float32(0)
			for i := range g {
				g[i], m[i] = make([]float32, n), float32(rng.IntN(4))
				fill(rng, g[i])
				total += m[i]
			}
			scale := float32(0)
			if total > 0 {
				scale = 1 / total
			}
			want, got := make([]float32, n), make([]float32, n)
			finite := true
			for e := range want {
				var sum float32
				first := true
				for i := range g {
					if p := float32(m[i] * g[i][e]); m[i] != 0 && first {
						sum, first = p, false
					} else if m[i] != 0 {
						sum += p
					}
				}
				want[e] = sum * scale
				finite = finite && want[e]-want[e] == 0
			}
			if f := Mean(got, g, m, scale); f != finite {
				t.Fatalf("finite = %v, want %v (weights %v)", f, finite, m)
			}
			same(t, fmt.Sprintf("Mean with weights %v", m), got, want)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	r, g, m := make([]float32, 3*block), [][]float32{make([]float32, 3*block), make([]float32, 3*block)}, []float32{1, 2}
	if a := testing.AllocsPerRun(10, func() {
		WeightedSum(r, g[0], g[1], 1, 2)
		WeightedMean(r, g[0], g[1], 1, 2, 0.5)
		Scaled(r, g[0], 1, 2)
		Mean(r, g, m, 0.5)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

func BenchmarkKernels(b *testing.B) {
	const n = 1 << 16
	x, y, r := make([]float32, n), make([]float32, n), make([]float32, n)
	for _, level := range cpu.Levels() {
		b.Run("WeightedMean/"+level.String(), func(b *testing.B) {
			defer cpu.Set(level)()
			b.SetBytes(12 * n)
			for b.Loop() {
				WeightedMean(r, x, y, 3, 4, 0.5)
			}
		})
	}
}
