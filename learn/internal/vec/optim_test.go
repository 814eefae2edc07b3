package vec

import (
	"math"
	"testing"

	"millrace.dev/internal/cpu"
)

// update is an optimiser with its float64 reference on one parameter with up to two slots.
type update struct {
	name string
	run  func(w, a, b, g []float32)
	want func(w, a, b, g float64) (float64, float64, float64)
}

var (
	sgdStep     = SGDStep{LR: 0.1, Decay: 0.01, Scale: 0.5}
	momStep     = SGDStep{LR: 0.1, Momentum: 0.9, Decay: 0.01, Scale: 0.5}
	nestStep    = SGDStep{LR: 0.1, Momentum: 0.9, Decay: 0.01, Scale: 0.5, Nesterov: true}
	adamStep    = AdamStep{LR: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.01, Scale: 0.5, Step: 3}
	adamWStep   = AdamStep{LR: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.01, Scale: 0.5, Step: 3, Decoupled: true}
	rmsStep     = RMSPropStep{LR: 0.01, Alpha: 0.99, Eps: 1e-8, Decay: 0.01, Scale: 0.5}
	rmsMomStep  = RMSPropStep{LR: 0.01, Alpha: 0.99, Eps: 1e-8, Momentum: 0.9, Decay: 0.01, Scale: 0.5}
	larsStep    = LARSStep{LR: 0.1, Momentum: 0.9, Decay: 0.01, Scale: 0.5, Trust: 0.001, WNorm: 3, GNorm: 2}
	larsAtStart = LARSStep{LR: 0.1, Momentum: 0.9, Scale: 1, Trust: 0.001}
)

func adam64(s AdamStep) func(w, m, v, g float64) (float64, float64, float64) {
	return func(w, m, v, g float64) (float64, float64, float64) {
		g *= s.Scale
		if s.Decoupled {
			w -= s.LR * s.Decay * w
		} else {
			g += s.Decay * w
		}
		m = s.Beta1*m + (1-s.Beta1)*g
		v = s.Beta2*v + (1-s.Beta2)*g*g
		mh := m / (1 - math.Pow(s.Beta1, float64(s.Step)))
		vh := v / (1 - math.Pow(s.Beta2, float64(s.Step)))
		return w - s.LR*mh/(math.Sqrt(vh)+s.Eps), m, v
	}
}

func rms64(s RMSPropStep) func(w, sq, buf, g float64) (float64, float64, float64) {
	return func(w, sq, buf, g float64) (float64, float64, float64) {
		g = s.Scale*g + s.Decay*w
		sq = s.Alpha*sq + (1-s.Alpha)*g*g
		d := g / (math.Sqrt(sq) + s.Eps)
		if s.Momentum == 0 {
			return w - s.LR*d, sq, buf
		}
		buf = s.Momentum*buf + d
		return w - s.LR*buf, sq, buf
	}
}

func lars64(s LARSStep, local float64) func(w, v, b, g float64) (float64, float64, float64) {
	return func(w, v, b, g float64) (float64, float64, float64) {
		v = s.Momentum*v + s.LR*local*(s.Scale*g+s.Decay*w)
		return w - v, v, b
	}
}

var updates = []update{
	{"SGD", func(w, _, _, g []float32) { SGD(w, nil, g, sgdStep) }, func(w, a, b, g float64) (float64, float64, float64) {
		return w - 0.1*(0.5*g+0.01*w), a, b
	}},
	{"momentum", func(w, v, _, g []float32) { SGD(w, v, g, momStep) }, func(w, v, b, g float64) (float64, float64, float64) {
		v = 0.9*v + 0.5*g + 0.01*w
		return w - 0.1*v, v, b
	}},
	{"Nesterov", func(w, v, _, g []float32) { SGD(w, v, g, nestStep) }, func(w, v, b, g float64) (float64, float64, float64) {
		d := 0.5*g + 0.01*w
		v = 0.9*v + d
		return w - 0.1*(d+0.9*v), v, b
	}},
	{"LARS", func(w, v, _, g []float32) { LARS(w, v, g, larsStep) }, lars64(larsStep, 0.001*3/(2+0.01*3))},
	{"LARS at zero", func(w, v, _, g []float32) { LARS(w, v, g, larsAtStart) }, lars64(larsAtStart, 1)},
	{"Adam", func(w, m, v, g []float32) { Adam(w, m, v, g, adamStep) }, adam64(adamStep)},
	{"AdamW", func(w, m, v, g []float32) { Adam(w, m, v, g, adamWStep) }, adam64(adamWStep)},
	{"RMSProp", func(w, sq, _, g []float32) { RMSProp(w, sq, nil, g, rmsStep) }, rms64(rmsStep)},
	{"RMSProp momentum", func(w, sq, b, g []float32) { RMSProp(w, sq, b, g, rmsMomStep) }, rms64(rmsMomStep)},
}

func TestOptimisers(t *testing.T) {
	rng := newRand()
	var f [4]*fence
	for i := range f {
		f[i] = newFence(t)
	}
	for _, u := range updates {
		t.Run(u.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				for _, n := range lengths() {
					var s, before [4][]float32
					for i := range s {
						s[i] = cut[float32](f[i], n, n%2 == 0)
						random(rng, s[i])
						before[i] = append([]float32(nil), s[i]...)
					}
					absGeneric(s[1], s[1]) // a mean of squares is not negative
					absGeneric(s[2], s[2])
					before[1], before[2] = append([]float32(nil), s[1]...), append([]float32(nil), s[2]...)
					u.run(s[0], s[1], s[2], s[3])
					for i := range n {
						w, a, b := u.want(float64(before[0][i]), float64(before[1][i]), float64(before[2][i]), float64(before[3][i]))
						if !near(s[0][i], w, 1e-5, 0.1) || !near(s[1][i], a, 1e-5, 0.1) || !near(s[2][i], b, 1e-5, 0.1) || s[3][i] != before[3][i] {
							t.Fatalf("n = %d, element %d: %g %g %g, want %g %g %g", n, i, s[0][i], s[1][i], s[2][i], w, a, b)
						}
					}
					for i := range f {
						if !f[i].intact(4*n, n%2 == 0) {
							t.Fatalf("n = %d: wrote outside slice %d", n, i)
						}
					}
				}
			})
		})
	}
}

func TestOptimiserLevelsAgree(t *testing.T) {
	if cpu.Best() < cpu.AVX512 {
		t.Skip("needs AVX-512")
	}
	for _, u := range updates {
		var got [2][4][]float32
		for k, l := range []cpu.Level{cpu.AVX2, cpu.AVX512} {
			rng := newRand()
			restore := cpu.Set(l)
			for i := range got[k] {
				got[k][i] = make([]float32, 1003)
				random(rng, got[k][i])
				absGeneric(got[k][i], got[k][i])
			}
			u.run(got[k][0], got[k][1], got[k][2], got[k][3])
			restore()
		}
		for i := range got[0] {
			if j := equalBits(got[0][i], got[1][i]); j >= 0 {
				t.Errorf("%s: slice %d differs at %d", u.name, i, j)
			}
		}
	}
}

// TestFirstStepWithoutRate: a warm-up starts at rate 0 and must leave the parameters alone.
func TestFirstStepWithoutRate(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		w, m, v, g := []float32{1, 2}, make([]float32, 2), make([]float32, 2), []float32{0, 1}
		Adam(w, m, v, g, AdamStep{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Scale: 1, Step: 1})
		if w[0] != 1 || w[1] != 2 {
			t.Errorf("w = %v", w)
		}
	})
}

func TestOptimisersAllocateNothing(t *testing.T) {
	w, a, b, g := make([]float32, 100), make([]float32, 100), make([]float32, 100), make([]float32, 100)
	for _, u := range updates {
		if n := testing.AllocsPerRun(10, func() { u.run(w, a, b, g) }); n != 0 {
			t.Errorf("%s allocates %v times", u.name, n)
		}
	}
}
