package vec

import (
	"math"
	"testing"
)

func TestLosses(t *testing.T) {
	softplus := func(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }
	for _, l := range []struct {
		name string
		run  func(dx, x, t []float32, scale float32) float64
		want func(x, t float64) float64
	}{
		{"MSE", MSE, func(x, t float64) float64 { return (x - t) * (x - t) }},
		{"Huber", func(dx, x, t []float32, s float32) float64 { return Huber(dx, x, t, 0.7, s) }, func(x, t float64) float64 {
			if d := math.Abs(x - t); d > 0.7 {
				return 0.7 * (d - 0.35)
			}
			return 0.5 * (x - t) * (x - t)
		}},
		{"BCELogits", BCELogits, func(x, t float64) float64 { return t*softplus(-x) + (1-t)*softplus(x) }},
	} {
		t.Run(l.name, func(t *testing.T) {
			rng := newRand()
			x, target, dx := make([]float32, 200), make([]float32, 200), make([]float32, 200)
			random(rng, x)
			for i := range target {
				target[i] = rng.Float32()
			}
			const scale, h = 0.5, 1e-5
			got := l.run(dx, x, target, scale)
			want := 0.0
			for i := range x {
				v, q := float64(x[i]), float64(target[i])
				want += l.want(v, q)
				slope := (l.want(v+h, q) - l.want(v-h, q)) / (2 * h)
				if math.Abs(float64(dx[i])-scale*slope) > 1e-4 {
					t.Fatalf("derivative at (%g, %g) is %g, want %g", v, q, dx[i], scale*slope)
				}
			}
			if math.Abs(got-want) > 1e-5*want {
				t.Errorf("sum %g, want %g", got, want)
			}
			if again := l.run(nil, x, target, scale); again != got {
				t.Errorf("sum without derivative %g, with it %g", again, got)
			}
			if n := testing.AllocsPerRun(5, func() { l.run(dx, x, target, scale) }); n != 0 {
				t.Errorf("allocates %v times", n)
			}
		})
	}
}

// TestLossLimits: certainty, right or wrong, stays finite.
func TestLossLimits(t *testing.T) {
	dx := make([]float32, 4)
	if s := BCELogits(dx, []float32{1000, -1000, 1000, -1000}, []float32{1, 0, 0, 1}, 1); s != 2000 || dx[2] != 1 || dx[3] != -1 {
		t.Errorf("BCELogits far out: sum %g, derivatives %v", s, dx)
	}
}
