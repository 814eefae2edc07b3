package vec

import "math"

// Optimiser updates of a contiguous range of parameters w, in one sweep. Scale multiplies the
// gradient first (clipping, averaging over replicas); Decay is the L2 weight decay added to it.

type (
	sgdKernel      = func(w, g []float32, scale, decay, lr float32)
	momentumKernel = func(w, v, g []float32, scale, decay, lr, mu float32)
	adamKernel     = func(w, m, v, g []float32, scale, decay, shrink, c1, c2, step, root, eps float32)
	rmspropKernel  = func(w, sq, g []float32, scale, decay, lr, beta, eps float32)

	rmspropMomentumKernel = func(w, sq, buf, g []float32, scale, decay, lr, beta, eps, mu float32)
)

// SGDStep are the constants of one step of stochastic gradient descent.
type SGDStep struct {
	LR, Momentum, Decay, Scale float64
	Nesterov                   bool
}

// SGD does w -= lr·v with v = momentum·v + g and g = scale·grad + decay·w, as PyTorch does; with
// Nesterov w -= lr·(g + momentum·v). Without momentum, v is not touched and may be nil.
func SGD(w, v, g []float32, s SGDStep) {
	g = g[:len(w)]
	if s.Momentum == 0 {
		f := sgdTab.pick()
		for at := 0; at < len(w); at += block {
			end := min(at+block, len(w))
			f(w[at:end], g[at:end], float32(s.Scale), float32(s.Decay), float32(s.LR))
		}
		return
	}
	t := &momentumTab
	if s.Nesterov {
		t = &nesterovTab
	}
	runMomentum(t, w, v, g, s)
}

func runMomentum(t *table[momentumKernel], w, v, g []float32, s SGDStep) {
	f := t.pick()
	v = v[:len(w)]
	for at := 0; at < len(w); at += block {
		end := min(at+block, len(w))
		f(w[at:end], v[at:end], g[at:end], float32(s.Scale), float32(s.Decay), float32(s.LR), float32(s.Momentum))
	}
}

// LARSStep are the constants of one step of layer-wise adaptive rate scaling.
type LARSStep struct {
	LR, Momentum, Decay, Scale float64
	Trust                      float64 // η, usually 0.001
	WNorm, GNorm               float64 // ‖w‖ and ‖scale·grad‖ of the whole layer
}

// LARS (You, Gitman and Ginsburg 2017) does w -= v with v = momentum·v + lr·local·(g + decay·w) and
// local = Trust·‖w‖/(‖g‖ + decay·‖w‖), 1 when a norm is 0.
func LARS(w, v, g []float32, s LARSStep) {
	local := 1.0
	if s.WNorm > 0 && s.GNorm > 0 {
		local = s.Trust * s.WNorm / (s.GNorm + s.Decay*s.WNorm)
	}
	rate := local * s.LR
	runMomentum(&momentumTab, w, v, g[:len(w)],
		SGDStep{LR: 1, Momentum: s.Momentum, Decay: s.Decay * rate, Scale: s.Scale * rate})
}

// AdamStep are the constants of one step of Adam.
type AdamStep struct {
	LR, Beta1, Beta2, Eps, Decay, Scale float64
	Step                                int  // counts from 1
	Decoupled                           bool // AdamW: w shrinks by 1 - lr·decay instead of adding decay·w to the gradient
}

// Adam (Kingma and Ba 2015; AdamW: Loshchilov and Hutter 2019) does m = β₁m + (1-β₁)g,
// v = β₂v + (1-β₂)g², w -= lr·m̂/(√v̂ + ε) with m̂ = m/(1-β₁ᵗ), v̂ = v/(1-β₂ᵗ).
func Adam(w, m, v, g []float32, s AdamStep) {
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	decay, shrink := s.Decay, 1.0
	if s.Decoupled {
		decay, shrink = 0, 1-s.LR*s.Decay
	}
	step := s.LR / (1 - math.Pow(s.Beta1, float64(s.Step)))
	root := 1 / math.Sqrt(1-math.Pow(s.Beta2, float64(s.Step)))
	f := adamTab.pick()
	for at := 0; at < len(w); at += block {
		end := min(at+block, len(w))
		f(w[at:end], m[at:end], v[at:end], g[at:end], float32(s.Scale), float32(decay), float32(shrink),
			float32(1-s.Beta1), float32(1-s.Beta2), float32(step), float32(root), float32(s.Eps))
	}
}

// RMSPropStep are the constants of one step of RMSProp.
type RMSPropStep struct{ LR, Alpha, Eps, Momentum, Decay, Scale float64 }

// RMSProp, in PyTorch's form, does sq = α·sq + (1-α)g² and w -= lr·buf with
// buf = momentum·buf + g/(√sq + ε). Without momentum, buf is not needed and may be nil.
func RMSProp(w, sq, buf, g []float32, s RMSPropStep) {
	sq, g = sq[:len(w)], g[:len(w)]
	scale, decay, lr, eps := float32(s.Scale), float32(s.Decay), float32(s.LR), float32(s.Eps)
	beta := float32(1 - s.Alpha)
	if s.Momentum == 0 {
		f := rmspropTab.pick()
		for at := 0; at < len(w); at += block {
			end := min(at+block, len(w))
			f(w[at:end], sq[at:end], g[at:end], scale, decay, lr, beta, eps)
		}
		return
	}
	buf = buf[:len(w)]
	f := rmspropMomentumTab.pick()
	for at := 0; at < len(w); at += block {
		end := min(at+block, len(w))
		f(w[at:end], sq[at:end], buf[at:end], g[at:end], scale, decay, lr, beta, eps, float32(s.Momentum))
	}
}

func sgdGeneric(w, g []float32, scale, decay, lr float32) {
	g = g[:len(w)]
	for i, p := range w {
		w[i] = p - lr*(scale*g[i]+decay*p)
	}
}

func momentumGeneric(w, v, g []float32, scale, decay, lr, mu float32) {
	v, g = v[:len(w)], g[:len(w)]
	for i, p := range w {
		u := mu*v[i] + (scale*g[i] + decay*p)
		v[i] = u
		w[i] = p - lr*u
	}
}

func nesterovGeneric(w, v, g []float32, scale, decay, lr, mu float32) {
	v, g = v[:len(w)], g[:len(w)]
	for i, p := range w {
		d := scale*g[i] + decay*p
		u := mu*v[i] + d
		v[i] = u
		w[i] = p - lr*(d+mu*u)
	}
}

func adamGeneric(w, m, v, g []float32, scale, decay, shrink, c1, c2, step, root, eps float32) {
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	for i, p := range w {
		d := scale*g[i] + decay*p
		a := m[i] + c1*(d-m[i])
		b := v[i] + c2*(d*d-v[i])
		m[i], v[i] = a, b
		w[i] = shrink*p - step*a/(float32(math.Sqrt(float64(b)))*root+eps)
	}
}

func rmspropGeneric(w, sq, g []float32, scale, decay, lr, beta, eps float32) {
	sq, g = sq[:len(w)], g[:len(w)]
	for i, p := range w {
		d := scale*g[i] + decay*p
		b := sq[i] + beta*(d*d-sq[i])
		sq[i] = b
		w[i] = p - lr*(d/(float32(math.Sqrt(float64(b)))+eps))
	}
}

func rmspropMomentumGeneric(w, sq, buf, g []float32, scale, decay, lr, beta, eps, mu float32) {
	sq, buf, g = sq[:len(w)], buf[:len(w)], g[:len(w)]
	for i, p := range w {
		d := scale*g[i] + decay*p
		b := sq[i] + beta*(d*d-sq[i])
		sq[i] = b
		u := mu*buf[i] + d/(float32(math.Sqrt(float64(b)))+eps)
		buf[i] = u
		w[i] = p - lr*u
	}
}
