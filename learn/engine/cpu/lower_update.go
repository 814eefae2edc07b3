package cpu

import (
	"math"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/vec"
)

// updater updates the elements [lo, hi) of a parameter with their gradient.
type updater func(lo, hi int, grad []float32)

func lowerUpdate(_ *compiler, n *graph.Node) (*op, error) {
	a := n.Attr.(graph.UpdateAttr)
	return &op{kernel: string(a.Kind), bind: func(b *binding) bound {
		if a.Kind == graph.LARS {
			return bound{phases: bindLARS(b, n)}
		}
		step, grad := bindUpdate(b, n), b.f32(n.In[3])
		return bound{phases: over(len(grad), 1, func(lo, hi int) { step(lo, hi, grad[lo:hi]) })}
	}}, nil
}

// bindUpdate gives the elementwise rules their memory.
func bindUpdate(b *binding, n *graph.Node) updater {
	a := n.Attr.(graph.UpdateAttr)
	hyper, clip, w := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.In[2])
	var s [2][]float32
	for k := range a.Slots() {
		s[k] = b.f32(n.In[4+k])
	}
	scale := func() float64 { return float64(hyper[graph.HyperScale] * clip[0]) }
	switch a.Kind {
	case graph.Adam:
		return func(lo, hi int, g []float32) {
			vec.Adam(w[lo:hi], s[0][lo:hi], s[1][lo:hi], g, vec.AdamStep{
				LR: float64(hyper[graph.HyperLR]), Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, Decay: a.Decay,
				Scale: scale(), Step: int(hyper[graph.HyperStep]), Decoupled: a.Decoupled,
			})
		}
	case graph.RMSProp:
		return func(lo, hi int, g []float32) {
			vec.RMSProp(w[lo:hi], s[0][lo:hi], part(s[1], lo, hi), g, vec.RMSPropStep{
				LR: float64(hyper[graph.HyperLR]), Alpha: a.Beta2, Eps: a.Eps, Momentum: a.Momentum, Decay: a.Decay, Scale: scale(),
			})
		}
	default:
		return func(lo, hi int, g []float32) {
			vec.SGD(w[lo:hi], part(s[0], lo, hi), g, vec.SGDStep{
				LR: float64(hyper[graph.HyperLR]), Momentum: a.Momentum, Decay: a.Decay, Scale: scale(), Nesterov: a.Nesterov,
			})
		}
	}
}

// bindLARS needs the norms of the whole parameter before it can update any of it.
func bindLARS(b *binding, n *graph.Node) []phase {
	a := n.Attr.(graph.UpdateAttr)
	hyper, clip, w, g, v := b.f32(n.In[0]), b.f32(n.In[1]), b.f32(n.In[2]), b.f32(n.In[3]), b.f32(n.In[4])
	ws, gs := make([]float64, chunkCount(len(w), chunkSize(len(w), 1))), make([]float64, chunkCount(len(w), chunkSize(len(w), 1)))
	var step vec.LARSStep
	return []phase{
		chunked(len(w), 1, func(k, lo, hi int) {
			ws[k], gs[k] = vec.SumSquares(w[lo:hi]), vec.SumSquares(g[lo:hi])
		}),
		finish(func() {
			scale := float64(hyper[graph.HyperScale] * clip[0])
			step = vec.LARSStep{
				LR: float64(hyper[graph.HyperLR]), Momentum: a.Momentum, Decay: a.Decay, Scale: scale, Trust: a.Trust,
				WNorm: math.Sqrt(total(ws)), GNorm: math.Sqrt(total(gs)) * math.Abs(scale),
			}
		}),
		chunked(len(w), 1, func(_, lo, hi int) { vec.LARS(w[lo:hi], v[lo:hi], g[lo:hi], step) }),
	}
}

// lowerClip adds up the squares of all gradients, chunk by chunk in order.
func lowerClip(_ *compiler, n *graph.Node) (*op, error) {
	limit := n.Attr.(graph.ClipAttr).Max
	return &op{kernel: "clip", bind: func(b *binding) bound {
		norm, scale := b.f32(n.Out[0]), b.f32(n.Out[1])
		var phases []phase
		var sums []float64
		for _, v := range n.In {
			g, at := b.f32(v), len(sums)
			sums = append(sums, make([]float64, chunkCount(len(g), chunkSize(len(g), 1)))...)
			phases = append(phases, chunked(len(g), 1, func(k, lo, hi int) { sums[at+k] = vec.SumSquares(g[lo:hi]) }))
		}
		phases = append(phases, finish(func() {
			l2 := math.Sqrt(total(sums))
			norm[0] = float32(l2)
			scale[0] = float32(min(1, float64(limit)/max(l2, 1e-30)))
		}))
		return bound{phases: phases, check: finiteCheck("gradient norm", norm)}
	}}, nil
}
