package vec

import "math"

type (
	softmaxRowKernel = func(dst, x []float32, scale float32) (m, sum float32)
	expSumKernel     = func(dst, x []float32, m float32) float32 // dst = e^(x-m), gives Σ dst
	sumExpKernel     = func(x []float32, m float32) float32      // gives Σ e^(x-m)
)

// Softmax sets each row of y to the softmax of the row of x (rows×cols); y may be x's memory.
func Softmax(y, x []float32, rows, cols int) {
	for r := range rows {
		softmaxRow(y[r*cols:][:cols], x[r*cols:][:cols], 1)
	}
}

// LogSoftmax sets each row of y to ln softmax of the row of x; y may be x's memory.
func LogSoftmax(y, x []float32, rows, cols int) {
	for r := range rows {
		xs, ys := x[r*cols:][:cols], y[r*cols:][:cols]
		m, s := logSumExp(xs)
		run2s(&affineTab, ys, xs, 1, -m) // apart from ln Σ, so that a large m costs no precision
		run2s(&affineTab, ys, ys, 1, float32(-s))
	}
}

// SoftmaxGrad sets dx = y·(dy - Σ dy·y), row by row, from Softmax's output y.
func SoftmaxGrad(dx, dy, y []float32, rows, cols int) {
	for r := range rows {
		at := r * cols
		ys, gs := y[at:at+cols], dy[at:at+cols]
		d := dx[at : at+cols]
		s := float32(Dot(gs, ys))
		run2s(&affineTab, d, gs, 1, -s)
		run3(&mulTab, d, d, ys)
	}
}

// LogSoftmaxGrad sets dx = dy - eʸ·Σdy, row by row, from LogSoftmax's output y. dx must not be
// dy's memory.
func LogSoftmaxGrad(dx, dy, y []float32, rows, cols int) {
	for r := range rows {
		at := r * cols
		gs, d := dy[at:at+cols], dx[at:at+cols]
		s := float32(Sum(gs))
		run2(&expTab, d, y[at:at+cols])
		run3s(&axpbyTab, d, d, gs, -s, 1)
	}
}

// softmaxRow sets dst = scale·softmax(x) and gives the largest element m and ln Σ e^(x-m).
func softmaxRow(dst, x []float32, scale float32) (m float32, logSum float64) {
	if len(x) <= block {
		m, sum := softmaxRowTab.pick()(dst, x, scale)
		return m, math.Log(float64(sum))
	}
	m = Max(x)
	f := expSumTab.pick()
	s := 0.0
	for at := 0; at < len(x); at += block {
		end := min(at+block, len(x))
		s += float64(f(dst[at:end], x[at:end], m))
	}
	run2s(&scaleTab, dst, dst, float32(float64(scale)/s), 0)
	return m, math.Log(s)
}

// logSumExp gives the largest element m and ln Σ e^(x-m).
func logSumExp(x []float32) (m float32, logSum float64) {
	m = Max(x)
	f := sumExpTab.pick()
	s := 0.0
	for at := 0; at < len(x); at += block {
		s += float64(f(x[at:min(at+block, len(x))], m))
	}
	return m, math.Log(s)
}

func softmaxRowGeneric(dst, x []float32, scale float32) (m, sum float32) {
	m = maxOfGeneric(x)
	sum = expSumGeneric(dst, x, m)
	scaleGeneric(dst, dst, scale/sum, 0)
	return m, sum
}

func expSumGeneric(dst, x []float32, m float32) float32 {
	var s float32
	for i, v := range x {
		e := exp32(v - m)
		dst[i] = e
		s += e
	}
	return s
}

func sumExpGeneric(x []float32, m float32) float32 {
	var s float32
	for _, v := range x {
		s += exp32(v - m)
	}
	return s
}
