package oracle

import (
	"math"

	"millrace.dev/learn/graph"
)

// logSumExp of a row, without overflow; NaN where the largest element is not finite.
func logSumExp(row []float64) float64 {
	top := math.Inf(-1)
	for _, v := range row {
		top = combine(graph.Max, top, v)
	}
	if math.IsInf(top, 0) {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range row {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// eachRow calls f with the bounds of every row along the last axis.
func eachRow(a *array, f func(lo, hi int)) {
	d := a.shape().Last()
	for r := range a.shape().Rows() {
		f(r*d, (r+1)*d)
	}
}

func softmax(c *call) error {
	x, y := c.in[0], c.out[0].f
	eachRow(x, func(lo, hi int) {
		lse := logSumExp(x.f[lo:hi])
		for i := lo; i < hi; i++ {
			y[i] = math.Exp(x.f[i] - lse)
		}
	})
	return nil
}

// softmaxGrad: dx = y·(dy − Σdy·y).
func softmaxGrad(c *call) error {
	dy, y, dx := c.in[0].f, c.in[1], c.out[0].f
	eachRow(y, func(lo, hi int) {
		dot := 0.0
		for i := lo; i < hi; i++ {
			dot += dy[i] * y.f[i]
		}
		for i := lo; i < hi; i++ {
			dx[i] = y.f[i] * (dy[i] - dot)
		}
	})
	return nil
}

func logSoftmax(c *call) error {
	x, y := c.in[0], c.out[0].f
	eachRow(x, func(lo, hi int) {
		lse := logSumExp(x.f[lo:hi])
		for i := lo; i < hi; i++ {
			y[i] = x.f[i] - lse
		}
	})
	return nil
}

// logSoftmaxGrad: dx = dy − exp(y)·Σdy.
func logSoftmaxGrad(c *call) error {
	dy, y, dx := c.in[0].f, c.in[1], c.out[0].f
	eachRow(y, func(lo, hi int) {
		sum := 0.0
		for i := lo; i < hi; i++ {
			sum += dy[i]
		}
		for i := lo; i < hi; i++ {
			dx[i] = dy[i] - math.Exp(y.f[i])*sum
		}
	})
	return nil
}
