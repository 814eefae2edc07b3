package oracle

import (
	"math"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// softmaxXent is the mean over the rows that count of −Σ target·log softmax(logits), and its
// gradient (softmax − target)/rows.
func softmaxXent(c *call) error {
	a := c.attr().(graph.XentAttr)
	z, labels, grad := c.in[0], c.in[1].i, c.out[1].f
	classes := z.shape().Last()
	rows := 0.0
	for r, label := range labels {
		switch {
		case label == a.Ignore:
		case label < 0 || int(label) >= classes:
			return &engine.RangeError{What: "label", At: r, Value: int(label), Limit: classes}
		default:
			rows++
		}
	}
	loss := 0.0
	clear(grad)
	for r, label := range labels {
		if label == a.Ignore {
			continue
		}
		row := z.f[r*classes : (r+1)*classes]
		lse := logSumExp(row)
		for k, v := range row {
			target := float64(a.Smoothing) / float64(classes)
			if k == int(label) {
				target += 1 - float64(a.Smoothing)
			}
			if target > 0 {
				loss -= target * (v - lse) / rows
			}
			grad[r*classes+k] = (math.Exp(v-lse) - target) / rows
		}
	}
	c.out[0].f[0] = loss
	return nil
}

func loss(c *call) error {
	a := c.attr().(graph.LossAttr)
	pred, target, grad := c.in[0].f, c.in[1].f, c.out[1].f
	n := float64(len(pred))
	sum := 0.0
	for i, p := range pred {
		value, slope := elementLoss(a, p, target[i])
		sum += value / n
		grad[i] = slope / n
	}
	c.out[0].f[0] = sum
	return nil
}

func elementLoss(a graph.LossAttr, p, t float64) (value, slope float64) {
	d, delta := p-t, float64(a.Delta)
	switch {
	case a.Kind == graph.BCE:
		return math.Max(p, 0) - p*t + math.Log1p(math.Exp(-math.Abs(p))), sigmoid(p) - t
	case a.Kind == graph.MSE:
		return d * d, 2 * d
	case math.Abs(d) > delta:
		return delta * (math.Abs(d) - delta/2), delta * sign(d)
	default:
		return d * d / 2, d
	}
}
