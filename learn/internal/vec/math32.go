package vec

import "math"

// Scalar elementary functions of the plain-Go kernels, by the same formulas as the assembly:
// argument reduction and minimax polynomials after the Cephes library (S. Moshier, 1984-1992).

const (
	log2e   = 1.44269504088896341
	ln2Hi   = 0.693359375 // few bits, so that n·ln2Hi is exact
	ln2Lo   = -2.12194440e-4
	expMax  = 88.72284   // above it exp overflows
	expMin  = -87.336544 // below it exp is less than the smallest normal number
	toWhole = 3 << 22    // adding it leaves no bits for a fraction: the sum is rounded to a whole number
	sqrtHlf = 0x3f3504f3 // bits of √½
	minNorm = 0x1p-126   // smallest normal float32
)

var inf32, nan32 = float32(math.Inf(1)), float32(math.NaN())

// exp32 is eˣ; results below the smallest normal number are 0.
func exp32(x float32) float32 {
	switch {
	case x != x:
		return x
	case x > expMax:
		return inf32
	case x < expMin:
		return 0
	}
	n := float32(x*log2e+toWhole) - toWhole
	r := x - n*ln2Hi
	r -= n * ln2Lo
	p := float32(1.9875691500e-4)
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	p = p*(r*r) + r + 1
	half := int32(n) >> 1
	return p * pow2(half) * pow2(int32(n)-half)
}

// pow2 is 2ⁿ for a normal result.
func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// log32 is the natural logarithm; denormals count as 0.
func log32(x float32) float32 {
	switch {
	case x != x || x < 0:
		return nan32
	case x < minNorm:
		return -inf32
	case x > math.MaxFloat32:
		return x
	}
	b := math.Float32bits(x)
	e := int32(b-sqrtHlf) >> 23
	m := math.Float32frombits(b-uint32(e)<<23) - 1
	p := float32(7.0376836292e-2)
	p = p*m - 1.1514610310e-1
	p = p*m + 1.1676998740e-1
	p = p*m - 1.2420140846e-1
	p = p*m + 1.4249322787e-1
	p = p*m - 1.6668057665e-1
	p = p*m + 2.0000714765e-1
	p = p*m - 2.4999993993e-1
	p = p*m + 3.3333331174e-1
	z := m * m
	y := p*m*z + float32(e)*ln2Lo - 0.5*z
	return m + y + float32(e)*ln2Hi
}

// sigmoid32 is 1/(1+e⁻ˣ).
func sigmoid32(x float32) float32 { return 1 / (1 + exp32(-x)) }

// tanh32 is odd, a polynomial near 0 and 1 - 2/(e²ˣ+1) beyond.
func tanh32(x float32) float32 {
	a := float32(math.Abs(float64(x)))
	if a < 0.625 {
		z := x * x
		p := float32(-5.70498872745e-3)
		p = p*z + 2.06390887954e-2
		p = p*z - 5.37397155531e-2
		p = p*z + 1.33314422036e-1
		p = p*z - 3.33332819422e-1
		return p*z*x + x
	}
	t := 1 - 2/(exp32(2*a)+1)
	return float32(math.Copysign(float64(t), float64(x)))
}

// erfcx coefficients: eᶻ²·erfc(z) = t·Σ cᵢtⁱ with t = 1/(1+z/2), relative error 5e-8 on [0, 10];
// the interpolation at Chebyshev nodes in t.
var erfcx = [...]float32{0.282082673667, 0.282445041969, 0.242572892956, 0.20485365512, -0.0318417573768,
	0.285697710262, -0.493863648741, 0.287768309514, -0.0597149189613}

const (
	sqrt1_2    = 0.70710678118654752440
	invSqrt2Pi = 0.39894228040143267794 // 1/√(2π)
	sqrt2Pi    = 0.79788456080286535588 // √(2/π)
	geluCubic  = 0.044715
)

// gauss gives Φ(x), the normal distribution function, and e^(-x²/2).
func gauss(x float32) (phi, e float32) {
	z := float32(math.Abs(float64(x))) * sqrt1_2
	t := 1 / (1 + 0.5*z)
	p := erfcx[8]
	for i := 7; i >= 0; i-- {
		p = p*t + erfcx[i]
	}
	e = exp32(-0.5 * x * x)
	q := 0.5 * p * t * e
	if x > 0 {
		return 1 - q, e
	}
	return q, e
}
