package vec

import "math"

// ReLU sets dst = max(x, 0); NaN stays NaN.
func ReLU(dst, x []float32) { run2(&reluTab, dst, x) }

// Neg sets dst = -x.
func Neg(dst, x []float32) { run2(&negTab, dst, x) }

// Abs sets dst = |x|.
func Abs(dst, x []float32) { run2(&absTab, dst, x) }

// Sqrt sets dst = √x.
func Sqrt(dst, x []float32) { run2(&sqrtTab, dst, x) }

// Rsqrt sets dst = 1/√x.
func Rsqrt(dst, x []float32) { run2(&rsqrtTab, dst, x) }

// Square sets dst = x².
func Square(dst, x []float32) { run2(&squareTab, dst, x) }

// LeakyReLU sets dst = x where x > 0 and alpha·x elsewhere.
func LeakyReLU(dst, x []float32, alpha float32) { run2s(&leakyTab, dst, x, alpha, 0) }

// ReLUGrad sets dx = dy where y > 0 and 0 elsewhere; y is ReLU's output or input.
func ReLUGrad(dx, dy, y []float32) { run3(&reluGradTab, dx, dy, y) }

// AbsGrad sets dx = dy·sign(x), with 0 where x = 0.
func AbsGrad(dx, dy, x []float32) { run3(&absGradTab, dx, dy, x) }

// SqrtGrad sets dx = dy/(2y) from Sqrt's output y.
func SqrtGrad(dx, dy, y []float32) { run3(&sqrtGradTab, dx, dy, y) }

// SquareGrad sets dx = 2·dy·x.
func SquareGrad(dx, dy, x []float32) { run3(&squareGradTab, dx, dy, x) }

// LeakyReLUGrad sets dx = dy where y > 0 and alpha·dy elsewhere; y is the output (when alpha is
// not negative) or the input.
func LeakyReLUGrad(dx, dy, y []float32, alpha float32) { run3s(&leakyGradTab, dx, dy, y, alpha, 0) }

func reluGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = max(v, 0)
	}
}

func negGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = -v
	}
}

func absGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
	}
}

func sqrtGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = float32(math.Sqrt(float64(v)))
	}
}

func rsqrtGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = 1 / float32(math.Sqrt(float64(v)))
	}
}

func squareGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = v * v
	}
}

func leakyGeneric(dst, x []float32, alpha, _ float32) {
	for i, v := range x[:len(dst)] {
		if !(v > 0) {
			v *= alpha
		}
		dst[i] = v
	}
}

func affineGeneric(dst, x []float32, a, b float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = a*v + b
	}
}

func reluGradGeneric(dx, dy, y []float32) {
	y = y[:len(dx)]
	for i, g := range dy[:len(dx)] {
		if !(y[i] > 0) {
			g = 0
		}
		dx[i] = g
	}
}

func absGradGeneric(dx, dy, x []float32) {
	x = x[:len(dx)]
	for i, g := range dy[:len(dx)] {
		switch {
		case x[i] < 0:
			g = -g
		case x[i] == 0:
			g = 0
		}
		dx[i] = g
	}
}

func sqrtGradGeneric(dx, dy, y []float32) {
	y = y[:len(dx)]
	for i, g := range dy[:len(dx)] {
		dx[i] = 0.5 * g / y[i]
	}
}

func squareGradGeneric(dx, dy, x []float32) {
	x = x[:len(dx)]
	for i, g := range dy[:len(dx)] {
		dx[i] = 2 * g * x[i]
	}
}

func leakyGradGeneric(dx, dy, y []float32, alpha, _ float32) {
	y = y[:len(dx)]
	for i, g := range dy[:len(dx)] {
		if !(y[i] > 0) {
			g *= alpha
		}
		dx[i] = g
	}
}
