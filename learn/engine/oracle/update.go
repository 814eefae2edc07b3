package oracle

import (
	"math"

	"millrace.dev/learn/graph"
)

// update applies an optimiser's rule to a param and its slots; see graph.UpdateKind for the
// formulas.
func update(c *call) error {
	a := c.attr().(graph.UpdateAttr)
	hyper, w := c.in[0].f, c.in[2].f
	scale := hyper[graph.HyperScale] * c.in[1].f[0]
	g := make([]float64, len(w))
	for i := range g {
		g[i] = c.in[3].f[i] * scale
	}
	lr := hyper[graph.HyperLR]
	var slots [2][]float64
	for k, s := range c.in[4:] {
		slots[k] = s.f
	}
	switch a.Kind {
	case graph.SGD:
		sgd(a, lr, w, g, slots[0])
	case graph.Adam:
		adam(a, hyper, w, g, slots[0], slots[1])
	case graph.RMSProp:
		rmsprop(a, lr, w, g, slots[0], slots[1])
	case graph.LARS:
		lars(a, lr, w, g, slots[0])
	}
	return nil
}

func sgd(a graph.UpdateAttr, lr float64, w, g, v []float64) {
	mu := a.Momentum
	for i := range w {
		d := g[i] + a.Decay*w[i]
		if v == nil {
			w[i] -= lr * d
			continue
		}
		v[i] = mu*v[i] + d
		if a.Nesterov {
			w[i] -= lr * (d + mu*v[i])
		} else {
			w[i] -= lr * v[i]
		}
	}
}

func adam(a graph.UpdateAttr, hyper, w, g, m, s []float64) {
	lr, t := hyper[graph.HyperLR], hyper[graph.HyperStep]
	b1, b2 := a.Beta1, a.Beta2
	c1, c2 := 1/(1-math.Pow(b1, t)), 1/(1-math.Pow(b2, t))
	for i := range w {
		d := g[i]
		if a.Decoupled {
			w[i] -= lr * a.Decay * w[i]
		} else {
			d += float64(a.Decay) * w[i]
		}
		m[i] = b1*m[i] + (1-b1)*d
		s[i] = b2*s[i] + (1-b2)*d*d
		w[i] -= lr * m[i] * c1 / (math.Sqrt(s[i]*c2) + a.Eps)
	}
}

func rmsprop(a graph.UpdateAttr, lr float64, w, g, s, v []float64) {
	alpha := a.Beta2
	for i := range w {
		d := g[i] + a.Decay*w[i]
		s[i] = alpha*s[i] + (1-alpha)*d*d
		d /= math.Sqrt(s[i]) + a.Eps
		if v != nil {
			v[i] = a.Momentum*v[i] + d
			d = v[i]
		}
		w[i] -= lr * d
	}
}

func lars(a graph.UpdateAttr, lr float64, w, g, v []float64) {
	ratio, wn, gn := 1.0, norm(w), norm(g)
	if wn != 0 && gn != 0 {
		ratio = a.Trust * wn / (gn + a.Decay*wn)
	}
	for i := range w {
		v[i] = a.Momentum*v[i] + ratio*lr*(g[i]+a.Decay*w[i])
		w[i] -= v[i]
	}
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// clipScale gives the norm of all gradients together and the factor that bounds it.
func clipScale(c *call) error {
	sum := 0.0
	for _, g := range c.in {
		n := norm(g.f)
		sum += n * n
	}
	total := math.Sqrt(sum)
	c.out[0].f[0] = total
	c.out[1].f[0] = clipFactor(float64(c.attr().(graph.ClipAttr).Max), total)
	return nil
}

func clipFactor(bound, total float64) float64 {
	switch {
	case math.IsInf(total, 0) || math.IsNaN(total):
		return math.NaN()
	case total > bound:
		return bound / total
	}
	return 1
}
