package oracle

import (
	"math"

	"millrace.dev/learn/graph"
)

// batchNorm normalises each channel by the batch's statistics and moves the running ones.
func batchNorm(c *call) error {
	a := c.attr().(graph.NormAttr)
	x, runMean, runVar := c.in[0], c.in[3].f, c.in[4].f
	mean, rstd := c.out[1].f, c.out[2].f
	channels := x.shape().Last()
	m := float64(x.shape().Rows())
	for ch := range channels {
		sum, squares := 0.0, 0.0
		for i := ch; i < len(x.f); i += channels {
			sum += x.f[i]
		}
		mean[ch] = sum / m
		for i := ch; i < len(x.f); i += channels {
			squares += (x.f[i] - mean[ch]) * (x.f[i] - mean[ch])
		}
		rstd[ch] = 1 / math.Sqrt(squares/m+float64(a.Eps))
		w := float64(a.Momentum)
		runMean[ch] = (1-w)*runMean[ch] + w*mean[ch]
		runVar[ch] = (1-w)*runVar[ch] + w*squares/(m-1)
	}
	scaleShift(c, a, mean, rstd)
	return nil
}

func batchNormInfer(c *call) error {
	a := c.attr().(graph.NormAttr)
	rstd := make([]float64, len(c.in[4].f))
	for ch, v := range c.in[4].f {
		rstd[ch] = 1 / math.Sqrt(v+float64(a.Eps))
	}
	scaleShift(c, a, c.in[3].f, rstd)
	return nil
}

// scaleShift is y = act(γ·(x−mean)·rstd + β + residual).
func scaleShift(c *call, a graph.NormAttr, mean, rstd []float64) {
	x, gamma, beta, y := c.in[0], c.in[1].f, c.in[2].f, c.out[0]
	channels := x.shape().Last()
	for i, v := range x.f {
		ch := i % channels
		v = gamma[ch]*(v-mean[ch])*rstd[ch] + beta[ch]
		if a.Residual {
			v += c.in[5].f[i]
		}
		if a.Act == graph.ReLU {
			v = relu(v)
		}
		y.f[i] = v
	}
}

// batchNormGrad: with x̂ = (x−mean)·rstd over m rows, dβ = Σdy, dγ = Σdy·x̂ and
// dx = γ·rstd·(dy − dβ/m − x̂·dγ/m).
func batchNormGrad(c *call) error {
	x, gamma, mean, rstd := c.in[1], c.in[2].f, c.in[3].f, c.in[4].f
	dx, dgamma, dbeta := c.out[0].f, c.out[1].f, c.out[2].f
	dy := append([]float64(nil), c.in[0].f...)
	if c.attr().(graph.NormGradAttr).Mask {
		maskBy(dy, c.in[5].f)
	}
	channels := x.shape().Last()
	m := float64(x.shape().Rows())
	clear(dgamma)
	clear(dbeta)
	for i, d := range dy {
		ch := i % channels
		dbeta[ch] += d
		dgamma[ch] += d * (x.f[i] - mean[ch]) * rstd[ch]
	}
	for i, d := range dy {
		ch := i % channels
		xhat := (x.f[i] - mean[ch]) * rstd[ch]
		dx[i] = gamma[ch] * rstd[ch] * (d - dbeta[ch]/m - xhat*dgamma[ch]/m)
	}
	return nil
}

func layerNorm(c *call) error {
	eps := float64(c.attr().(graph.NormAttr).Eps)
	x, gamma, beta := c.in[0], c.in[1].f, c.in[2].f
	y, mean, rstd := c.out[0].f, c.out[1].f, c.out[2].f
	d := x.shape().Last()
	for r := range x.shape().Rows() {
		row := x.f[r*d : (r+1)*d]
		sum, squares := 0.0, 0.0
		for _, v := range row {
			sum += v
		}
		mean[r] = sum / float64(d)
		for _, v := range row {
			squares += (v - mean[r]) * (v - mean[r])
		}
		rstd[r] = 1 / math.Sqrt(squares/float64(d)+eps)
		for i, v := range row {
			y[r*d+i] = gamma[i]*(v-mean[r])*rstd[r] + beta[i]
		}
	}
	return nil
}

// layerNormGrad: per row of length d, with g = dy·γ,
// dx = rstd·(g − Σg/d − x̂·Σ(g·x̂)/d).
func layerNormGrad(c *call) error {
	dy, x, gamma, mean, rstd := c.in[0].f, c.in[1], c.in[2].f, c.in[3].f, c.in[4].f
	dx, dgamma, dbeta := c.out[0].f, c.out[1].f, c.out[2].f
	d := x.shape().Last()
	clear(dgamma)
	clear(dbeta)
	for r := range x.shape().Rows() {
		sum, dot := 0.0, 0.0
		for i := range d {
			k := r*d + i
			xhat := (x.f[k] - mean[r]) * rstd[r]
			dbeta[i] += dy[k]
			dgamma[i] += dy[k] * xhat
			sum += dy[k] * gamma[i]
			dot += dy[k] * gamma[i] * xhat
		}
		for i := range d {
			k := r*d + i
			xhat := (x.f[k] - mean[r]) * rstd[r]
			dx[k] = rstd[r] * (dy[k]*gamma[i] - sum/float64(d) - xhat*dot/float64(d))
		}
	}
	return nil
}
