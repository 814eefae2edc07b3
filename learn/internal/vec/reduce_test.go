package vec

import (
	"math"
	"testing"

	"millrace.dev/internal/cpu"
)

func sum64(x []float32, f func(v float64) float64) (sum, abs float64) {
	for _, v := range x {
		sum += f(float64(v))
		abs += math.Abs(f(float64(v)))
	}
	return sum, abs
}

func TestReductions(t *testing.T) {
	rng := newRand()
	f, g := newFence(t), newFence(t)
	eachLevel(t, func(t *testing.T) {
		for _, n := range lengths() {
			for _, atEnd := range []bool{true, false} {
				x, y := cut[float32](f, n, atEnd), cut[float32](g, n, atEnd)
				random(rng, x)
				random(rng, y)
				check := func(what string, got float64, want, scale float64) {
					t.Helper()
					if !(math.Abs(got-want) <= 1e-6*scale) {
						t.Fatalf("%s of %d: %g, want %g", what, n, got, want)
					}
				}
				want, scale := sum64(x, func(v float64) float64 { return v })
				check("Sum", Sum(x), want, scale)
				want, scale = sum64(x, func(v float64) float64 { return v * v })
				check("SumSquares", SumSquares(x), want, scale)
				want, scale = 0, 0
				top, at := math.Inf(-1), -1
				for i, v := range x {
					want += float64(v) * float64(y[i])
					scale += math.Abs(float64(v) * float64(y[i]))
					if float64(v) > top {
						top, at = float64(v), i
					}
				}
				check("Dot", Dot(x, y), want, scale)
				if got := float64(Max(x)); got != top {
					t.Fatalf("Max of %d: %g, want %g", n, got, top)
				}
				if got := ArgMax(x); got != at {
					t.Fatalf("ArgMax of %d: %d, want %d", n, got, at)
				}
				if got := Finite(x); got != -1 {
					t.Fatalf("Finite of %d: %d", n, got)
				}
				for _, bad := range []float32{nan32, inf32, -inf32} {
					if n == 0 {
						break
					}
					i := rng.IntN(n)
					old := x[i]
					x[i] = bad
					if got := Finite(x); got != i {
						t.Fatalf("Finite of %d with %g at %d: %d", n, bad, i, got)
					}
					if m := Max(x); bad != bad && m == m || bad > 0 && m != bad {
						t.Fatalf("Max of %d with %g is %g", n, bad, m)
					}
					if bad != -inf32 && ArgMax(x) != i {
						t.Fatalf("ArgMax of %d with %g at %d: %d", n, bad, i, ArgMax(x))
					}
					x[i] = old
				}
			}
		}
	})
}

func TestReductionLevelsAgree(t *testing.T) {
	if cpu.Best() < cpu.AVX512 {
		t.Skip("needs AVX-512")
	}
	rng := newRand()
	for _, n := range lengths() {
		x, y := make([]float32, n), make([]float32, n)
		random(rng, x)
		random(rng, y)
		var got [2][5]float64
		for i, l := range []cpu.Level{cpu.AVX2, cpu.AVX512} {
			restore := cpu.Set(l)
			m, s := logSumExp(x)
			got[i] = [5]float64{Sum(x), SumSquares(x), Dot(x, y), float64(m), s}
			restore()
		}
		if n > 0 && got[0] != got[1] {
			t.Errorf("n = %d: AVX2 %v, AVX-512 %v", n, got[0], got[1])
		}
	}
}

func TestReduceAxes(t *testing.T) {
	rng := newRand()
	for range 300 {
		rank := rng.IntN(6)
		shape, reduced := make([]int, rank), make([]bool, rank)
		n, outs := 1, 1
		for i := range shape {
			shape[i], reduced[i] = 1+rng.IntN(5), rng.IntN(2) == 0
			n *= shape[i]
			if !reduced[i] {
				outs *= shape[i]
			}
		}
		x := make([]float32, n)
		random(rng, x)
		want := [3][]float64{make([]float64, outs), make([]float64, outs), make([]float64, outs)}
		for i := range want[2] {
			want[2][i] = math.Inf(-1)
		}
		for i, v := range x { // where does element i go?
			o, rest := 0, i
			step := 1
			for a := rank - 1; a >= 0; a-- {
				k := rest % shape[a]
				rest /= shape[a]
				if !reduced[a] {
					o += k * step
					step *= shape[a]
				}
			}
			want[0][o] += float64(v)
			want[1][o] += float64(v) / float64(n/outs)
			want[2][o] = max(want[2][o], float64(v))
		}
		for op := range want {
			got := make([]float32, outs)
			for lo := 0; lo < outs; {
				hi := min(outs, lo+1+rng.IntN(outs))
				ReduceAxes(Reduction(op), got, x, shape, reduced, lo, hi)
				lo = hi
			}
			for o := range got {
				if !near(got[o], want[op][o], 1e-5, 1) {
					t.Fatalf("reduction %d of %v over %v: output %d is %g, want %g", op, shape, reduced, o, got[o], want[op][o])
				}
			}
		}
	}
}

func TestReduceEmptyAxis(t *testing.T) {
	dst := []float32{9, 9, 9}
	ReduceAxes(ReduceSum, dst, nil, []int{0, 3}, []bool{true, false}, 1, 3)
	ReduceAxes(ReduceMax, dst, nil, []int{0, 3}, []bool{true, false}, 0, 1)
	if dst[0] != -inf32 || dst[1] != 0 || dst[2] != 0 {
		t.Errorf("reductions of nothing are %v", dst)
	}
}
