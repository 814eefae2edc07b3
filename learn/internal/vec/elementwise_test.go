package vec

import (
	"fmt"
	"math"
	"testing"

	"millrace.dev/internal/cpu"
)

// elementwise is a function of up to two operands with its float64 reference.
type elementwise struct {
	name string
	run  func(dst, x, y []float32)
	want func(x, y float64) float64
	ulps float64 // allowed error in units in the last place
	tol  float64 // or an allowed error relative to max(1, |want|), where cancellation makes ulps meaningless
	pos  bool    // operands are made positive
	wide bool    // right for every operand, infinite ones and NaN included
	tiny float64 // results below it may come out as 0
}

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func phi64(x float64) float64     { return 0.5 * math.Erfc(-x/math.Sqrt2) }
func geluArg64(x float64) float64 { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }
func max64(x, y float64) float64  { return max(x, y) }
func min64(x, y float64) float64  { return min(x, y) }
func one(f func(dst, x []float32)) func(dst, x, y []float32) {
	return func(dst, x, _ []float32) { f(dst, x) }
}
func of(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}
func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var elementwises = []elementwise{
	{name: "ReLU", wide: true, run: one(ReLU), want: func(x, _ float64) float64 { return max64(x, 0) }},
	{name: "Neg", wide: true, run: one(Neg), want: func(x, _ float64) float64 { return -x }},
	{name: "Abs", wide: true, run: one(Abs), want: of(math.Abs)},
	{name: "Sqrt", wide: true, run: one(Sqrt), want: of(math.Sqrt), ulps: 0.5, pos: true},
	{name: "Rsqrt", run: one(Rsqrt), want: func(x, _ float64) float64 { return 1 / math.Sqrt(x) }, ulps: 1.5, pos: true},
	{name: "Square", wide: true, run: one(Square), want: func(x, _ float64) float64 { return x * x }, ulps: 0.5},
	{name: "LeakyReLU", run: func(d, x, _ []float32) { LeakyReLU(d, x, 0.25) }, want: func(x, _ float64) float64 { return max64(x, 0.25*x) }, ulps: 0.5},
	{name: "affine", run: func(d, x, _ []float32) { run2s(&affineTab, d, x, 3, -2) }, want: func(x, _ float64) float64 { return 3*x - 2 }, tol: 1e-6},
	{name: "Exp", wide: true, run: one(Exp), want: of(math.Exp), ulps: 2},
	{name: "Log", wide: true, run: one(Log), want: of(math.Log), ulps: 2, pos: true},
	{name: "Sigmoid", wide: true, run: one(Sigmoid), want: of(sigmoid64), ulps: 4},
	{name: "Tanh", wide: true, run: one(Tanh), want: of(math.Tanh), ulps: 4},
	{name: "GELU", wide: true, run: one(GELU), want: func(x, _ float64) float64 { return x * phi64(x) }, ulps: 40, tiny: 1e-35},
	{name: "GELUTanh", wide: true, run: one(GELUTanh), want: func(x, _ float64) float64 { return 0.5 * x * (1 + math.Tanh(geluArg64(x))) }, tol: 4e-7, tiny: 1e-35},
	{name: "SiLU", wide: true, run: one(SiLU), want: func(x, _ float64) float64 { return x * sigmoid64(x) }, ulps: 5, tiny: 1e-35},

	{name: "ReLUGrad", run: ReLUGrad, want: func(g, y float64) float64 { return g * bit(y > 0) }},
	{name: "AbsGrad", run: AbsGrad, want: func(g, x float64) float64 { return g * (bit(x > 0) - bit(x < 0)) }},
	{name: "SqrtGrad", run: SqrtGrad, want: func(g, y float64) float64 { return g / (2 * y) }, ulps: 1},
	{name: "SquareGrad", run: SquareGrad, want: func(g, x float64) float64 { return 2 * g * x }, ulps: 1},
	{name: "LeakyReLUGrad", run: func(d, g, y []float32) { LeakyReLUGrad(d, g, y, 0.25) }, want: func(g, y float64) float64 { return g * (0.25 + 0.75*bit(y > 0)) }, ulps: 0.5},
	{name: "SigmoidGrad", run: SigmoidGrad, want: func(g, y float64) float64 { return g * y * (1 - y) }, tol: 1e-6},
	{name: "TanhGrad", run: TanhGrad, want: func(g, y float64) float64 { return g * (1 - y*y) }, tol: 1e-6},
	{name: "GELUGrad", run: GELUGrad, want: func(g, x float64) float64 {
		return g * (phi64(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	}, tol: 2e-6},
	{name: "GELUTanhGrad", run: GELUTanhGrad, want: func(g, x float64) float64 {
		th := math.Tanh(geluArg64(x))
		return g * (0.5*(1+th) + 0.5*x*(1-th*th)*math.Sqrt(2/math.Pi)*(1+3*0.044715*x*x))
	}, tol: 4e-6},
	{name: "SiLUGrad", run: SiLUGrad, want: func(g, x float64) float64 {
		s := sigmoid64(x)
		return g * (s + x*s*(1-s))
	}, tol: 2e-6},

	{name: "Add", wide: true, run: func(d, x, y []float32) { Binary(OpAdd, d, x, y) }, want: func(x, y float64) float64 { return x + y }, ulps: 0.5},
	{name: "Sub", wide: true, run: func(d, x, y []float32) { Binary(OpSub, d, x, y) }, want: func(x, y float64) float64 { return x - y }, ulps: 0.5},
	{name: "Mul", wide: true, run: Mul, want: func(x, y float64) float64 { return x * y }, ulps: 0.5},
	{name: "Div", wide: true, run: func(d, x, y []float32) { Binary(OpDiv, d, x, y) }, want: func(x, y float64) float64 { return x / y }, ulps: 0.5},
	{name: "Max", wide: true, run: func(d, x, y []float32) { Binary(OpMax, d, x, y) }, want: max64},
	{name: "Min", wide: true, run: func(d, x, y []float32) { Binary(OpMin, d, x, y) }, want: min64},
	{name: "GE", wide: true, run: func(d, x, y []float32) { Binary(OpGE, d, x, y) }, want: func(x, y float64) float64 { return bit(x >= y) }},
	{name: "LT", wide: true, run: func(d, x, y []float32) { Binary(OpLT, d, x, y) }, want: func(x, y float64) float64 { return bit(x < y) }},
	{name: "AddReLU", run: func(d, x, y []float32) { Binary(OpAddReLU, d, x, y) }, want: func(x, y float64) float64 { return max64(x+y, 0) }, ulps: 0.5},
	{name: "axpby", run: func(d, x, y []float32) { run3s(&axpbyTab, d, x, y, 0.75, -1.5) }, want: func(x, y float64) float64 { return 0.75*x - 1.5*y }, tol: 1e-6},
	{name: "Quotient", run: func(d, x, _ []float32) { BinaryScalar(OpDiv, d, x, 3) }, want: func(x, _ float64) float64 { return x / 3 }, ulps: 0.5},
	{name: "Scale", run: func(d, x, _ []float32) { BinaryScalar(OpMul, d, x, 3) }, want: func(x, _ float64) float64 { return x * 3 }, ulps: 0.5},
}

// special are the operands that are hard to get right: limits, signs, infinities and NaN.
var special = func() []float32 {
	var v []float32
	for _, x := range []float64{0, 1e-37, 1e-10, 0.1, 0.25, 0.5, 0.6249, 0.625, 0.6251, 1, 2, 3.5, 5, 9.02, 10, 16.7, 30, 40, 41,
		80, 87, 87.336, 87.34, 88, 88.37, 88.72, 88.73, 89, 90, 103, 104, 105, 126, 1000, 1e10, 1e20, 3e38} {
		v = append(v, float32(x), -float32(x))
	}
	return append(v, inf32, -inf32, nan32)
}()

func (e *elementwise) check(t *testing.T, got, x, y float32) {
	t.Helper()
	want := e.want(float64(x), float64(y))
	if math.IsNaN(want) && e.tiny > 0 && x < 0 { // -∞·0, whose limit is 0
		want = 0
	}
	if floor := math.Max(e.tiny, minNorm*1.0001); math.Abs(want) < floor && math.Abs(float64(got)) < floor { // flushed
		return
	}
	if u := ulps(got, want); u <= math.Max(e.ulps, 0) {
		return
	} else if e.tol == 0 || !near(got, want, e.tol, 1) {
		t.Fatalf("f(%g, %g) = %g, want %g (%.2f ulp)", x, y, got, want, u)
	}
}

func TestElementwiseSpecial(t *testing.T) {
	for _, e := range elementwises {
		if !e.wide {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				var x, y []float32
				for _, p := range special {
					for _, q := range special {
						x, y = append(x, p), append(y, q)
					}
				}
				dst := make([]float32, len(x))
				e.run(dst, x, y)
				for i := range dst {
					e.check(t, dst[i], x[i], y[i])
				}
			})
		})
	}
}

// TestGradientsSaturate: with dy = 1 the derivative of an activation is right at any finite x.
func TestGradientsSaturate(t *testing.T) {
	for _, e := range elementwises {
		if e.name != "GELUGrad" && e.name != "GELUTanhGrad" && e.name != "SiLUGrad" {
			continue
		}
		eachLevel(t, func(t *testing.T) {
			dy, dst := make([]float32, len(special)), make([]float32, len(special))
			Fill(dy, 1)
			e.run(dst, dy, special)
			for i, x := range special {
				want := e.want(1, float64(x))
				switch {
				case x > 100:
					want = 1
				case x < -100:
					want = 0
				}
				if !near(dst[i], want, e.tol, 1) {
					t.Errorf("%s(%g) = %g, want %g", e.name, x, dst[i], want)
				}
			}
		})
	}
}

func TestElementwiseTails(t *testing.T) {
	rng := newRand()
	var f [3]*fence
	for i := range f {
		f[i] = newFence(t)
	}
	for _, e := range elementwises {
		t.Run(e.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				for _, n := range lengths() {
					for _, atEnd := range []bool{true, false} {
						dst, x, y := cut[float32](f[0], n, atEnd), cut[float32](f[1], n, atEnd), cut[float32](f[2], n, atEnd)
						random(rng, x)
						random(rng, y)
						if e.pos {
							absGeneric(x, x)
						}
						e.run(dst, x, y)
						for i := range dst {
							e.check(t, dst[i], x[i], y[i])
						}
						if !f[0].intact(4*n, atEnd) {
							t.Fatalf("n = %d: wrote outside the range", n)
						}
						keep := append([]float32(nil), dst...)
						e.run(x, x, y)
						if i := equalBits(keep, x); i >= 0 {
							t.Fatalf("n = %d: in place differs at %d: %g, %g", n, i, x[i], keep[i])
						}
					}
				}
			})
		})
	}
}

func TestElementwiseLevelsAgree(t *testing.T) {
	if cpu.Best() < cpu.AVX512 {
		t.Skip("needs AVX-512")
	}
	rng := newRand()
	x, y := make([]float32, 5003), make([]float32, 5003)
	for i := range x {
		x[i], y[i] = float32(rng.NormFloat64()*20), float32(rng.NormFloat64()*20)
	}
	copy(x, special)
	for _, e := range elementwises {
		var got [2][]float32
		for i, l := range []cpu.Level{cpu.AVX2, cpu.AVX512} {
			restore := cpu.Set(l)
			got[i] = make([]float32, len(x))
			e.run(got[i], x, y)
			restore()
		}
		if i := equalBits(got[0], got[1]); i >= 0 {
			t.Errorf("%s(%g, %g): AVX2 %g, AVX-512 %g", e.name, x[i], y[i], got[0][i], got[1][i])
		}
	}
}

// TestElementaryError walks the whole range of float32 and prints the largest error.
func TestElementaryError(t *testing.T) {
	step := uint32(1 << 14)
	if testing.Short() {
		step = 1 << 17
	}
	eachLevel(t, func(t *testing.T) {
		for _, e := range elementwises {
			switch e.name {
			case "Exp", "Log", "Sigmoid", "Tanh":
			default:
				continue
			}
			var x []float32
			for b := uint64(0); b < 1<<32; b += uint64(step) {
				x = append(x, math.Float32frombits(uint32(b)+uint32(b>>7)%step))
			}
			dst := make([]float32, len(x))
			e.run(dst, x, x)
			worst, at := 0.0, float32(0)
			for i, v := range x {
				if math.Abs(float64(v)) < minNorm && v != 0 { // denormals count as zero
					continue
				}
				want := e.want(float64(v), 0)
				if math.Abs(want) < minNorm*1.0001 && math.Abs(float64(dst[i])) < minNorm*1.0001 {
					continue
				}
				if u := ulps(dst[i], want); u > worst {
					worst, at = u, v
				}
			}
			t.Logf("%s: at most %.2f ulp, at %g", e.name, worst, at)
			if worst > e.ulps {
				t.Errorf("%s(%g) is off by %.2f ulp, more than %g", e.name, at, worst, e.ulps)
			}
		}
	})
}

func TestElementwiseAllocatesNothing(t *testing.T) {
	x, y, dst := make([]float32, 1000), make([]float32, 1000), make([]float32, 1000)
	for _, e := range elementwises {
		if n := testing.AllocsPerRun(10, func() { e.run(dst, x, y) }); n != 0 {
			t.Errorf("%s allocates %v times", e.name, n)
		}
	}
}

func TestShortOperandPanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || fmt.Sprint(r) == "" {
			t.Error("a short operand went unnoticed")
		}
	}()
	Binary(OpAdd, make([]float32, 8), make([]float32, 8), make([]float32, 7))
}
