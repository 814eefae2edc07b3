package vec

// Exp sets dst = eˣ, within 2 units in the last place; results below 2⁻¹²⁶ are 0.
func Exp(dst, x []float32) { run2(&expTab, dst, x) }

// Log sets dst = ln x, within 2 units in the last place; denormals count as 0.
func Log(dst, x []float32) { run2(&logTab, dst, x) }

// Sigmoid sets dst = 1/(1+e⁻ˣ), within 4 units in the last place.
func Sigmoid(dst, x []float32) { run2(&sigmoidTab, dst, x) }

// Tanh sets dst = tanh x, within 4 units in the last place.
func Tanh(dst, x []float32) { run2(&tanhTab, dst, x) }

// GELU sets dst = x·Φ(x), Φ the normal distribution function (Hendrycks and Gimpel 2016).
func GELU(dst, x []float32) { run2(&geluTab, dst, x) }

// GELUTanh sets dst = ½x(1 + tanh(√(2/π)(x + 0.044715x³))), GELU's usual approximation.
func GELUTanh(dst, x []float32) { run2(&geluTanhTab, dst, x) }

// SiLU sets dst = x·σ(x).
func SiLU(dst, x []float32) { run2(&siluTab, dst, x) }

// SigmoidGrad sets dx = dy·y(1-y) from Sigmoid's output y.
func SigmoidGrad(dx, dy, y []float32) { run3(&sigmoidGradTab, dx, dy, y) }

// TanhGrad sets dx = dy·(1-y²) from Tanh's output y.
func TanhGrad(dx, dy, y []float32) { run3(&tanhGradTab, dx, dy, y) }

// GELUGrad sets dx = dy·(Φ(x) + xφ(x)) from GELU's input x.
func GELUGrad(dx, dy, x []float32) { run3(&geluGradTab, dx, dy, x) }

// GELUTanhGrad sets dx = dy·f'(x) from GELUTanh's input x.
func GELUTanhGrad(dx, dy, x []float32) { run3(&geluTanhGradTab, dx, dy, x) }

// SiLUGrad sets dx = dy·σ(x)(1 + x(1-σ(x))) from SiLU's input x.
func SiLUGrad(dx, dy, x []float32) { run3(&siluGradTab, dx, dy, x) }

func expGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = exp32(v)
	}
}

func logGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = log32(v)
	}
}

func sigmoidGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = sigmoid32(v)
	}
}

func tanhGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = tanh32(v)
	}
}

func geluGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		v = max(v, geluFloor)
		phi, _ := gauss(v)
		dst[i] = v * phi
	}
}

func geluTanhGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		v = max(v, geluFloor)
		dst[i] = v * sigmoid32(geluArg(v))
	}
}

func siluGeneric(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		v = max(v, siluFloor)
		dst[i] = v * sigmoid32(v)
	}
}

// Below these arguments the function is 0 in float32; going no lower avoids -∞·0.
const geluFloor, siluFloor = -40, -126

// Above and below these the derivative is 1 and 0 in float32.
const geluCeil, siluCeil = 40, 126

// geluArg is 2u with u the argument of tanh in GELUTanh, so that ½(1+tanh u) = σ(2u).
func geluArg(x float32) float32 { return 2 * sqrt2Pi * (x + geluCubic*x*x*x) }

func sigmoidGradGeneric(dx, dy, y []float32) {
	y = y[:len(dx)]
	for i, g := range dy[:len(dx)] {
		dx[i] = g * (y[i] * (1 - y[i]))
	}
}

func tanhGradGeneric(dx, dy, y []float32) {
	y = y[:len(dx)]
	for i, g := range dy[:len(dx)] {
		dx[i] = g * (1 - y[i]*y[i])
	}
}

func geluGradGeneric(dx, dy, x []float32) {
	x = x[:len(dx)]
	for i, g := range dy[:len(dx)] {
		v := min(max(x[i], geluFloor), geluCeil)
		phi, e := gauss(v)
		dx[i] = g * (phi + v*invSqrt2Pi*e)
	}
}

func geluTanhGradGeneric(dx, dy, x []float32) {
	x = x[:len(dx)]
	for i, g := range dy[:len(dx)] {
		v := min(max(x[i], geluFloor), geluCeil)
		s := sigmoid32(geluArg(v))
		du := 2 * sqrt2Pi * (1 + 3*geluCubic*v*v)
		dx[i] = g * (s + v*s*(1-s)*du)
	}
}

func siluGradGeneric(dx, dy, x []float32) {
	x = x[:len(dx)]
	for i, g := range dy[:len(dx)] {
		v := min(max(x[i], siluFloor), siluCeil)
		s := sigmoid32(v)
		dx[i] = g * (s * (1 + v*(1-s)))
	}
}
