package main

import (
	"math"
)

// Elementary functions on vectors, by the formulas of math32.go.

// exp is eˣ. After clamping, n = round(x/ln 2), and e^r of the rest by a polynomial.
func (a *asm) exp(x vec) vec {
	x = a.min(a.copyOf(a.constant(89)), x) // NaN passes: the second operand is kept
	x = a.max(a.copyOf(a.constant(-104)), x)
	n := a.round(a.mul(x, a.constant(1.44269504088896341)))
	r := a.fnma(n, a.constant(0.693359375), x)
	r = a.fnma(n, a.constant(-2.12194440e-4), r)
	p := a.horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	p = a.fma(p, a.mul(r, r), r)
	p = a.add(p, a.constant(1))
	return a.scale2(p, n)
}

// scale2 is p·2ⁿ. AVX2 multiplies by two powers of two, each within range.
func (a *asm) scale2(p, n vec) vec {
	if a.Wide {
		d := a.NewVec()
		a.VSCALEFPS(n[0], p[0], d[0])
		return d
	}
	i := a.toInts(n)
	half := a.shifted(a.VPSRAD, 1, i)
	rest := a.subInts(i, half)
	return a.mul(a.mul(p, a.pow2(half)), a.pow2(rest))
}

// pow2 is 2ⁿ of integers in the normal range.
func (a *asm) pow2(n vec) vec { return a.shifted(a.VPSLLD, 23, a.addInts(n, a.constBits(127))) }

// log is the natural logarithm: x = 2ᵉ·(1+m), √½ ≤ 1+m < √2.
func (a *asm) log(x vec) vec {
	e := a.shifted(a.VPSRAD, 23, a.subInts(x, a.constBits(0x3f3504f3)))
	m := a.sub(a.subInts(x, a.shifted(a.VPSLLD, 23, e)), a.constant(1))
	f := a.toFloats(e)
	p := a.horner(m, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	z := a.mul(m, m)
	y := a.mul(a.mul(p, m), z)
	y = a.fma(f, a.constant(-2.12194440e-4), y)
	y = a.fnma(z, a.constant(0.5), y)
	y = a.add(m, y)
	y = a.fma(f, a.constant(0.693359375), y)
	zero := a.constant(0)
	y = a.choose(a.compare(eq, x, a.constant(math.Inf(1))), x, y)
	y = a.choose(a.compare(eq, x, zero), a.copyOf(a.constant(math.Inf(-1))), y)
	return a.choose(a.compare(ng, x, zero), a.copyOf(a.constBits(0x7fc00000)), y)
}

// sigmoid is 1/(1+e⁻ˣ).
func (a *asm) sigmoid(x vec) vec {
	e := a.exp(a.negate(x))
	return a.div(a.copyOf(a.constant(1)), a.add(e, a.constant(1)))
}

// tanh is a polynomial for |x| < 0.625 and 1 - 2/(e²ˣ+1) beyond.
func (a *asm) tanh(x vec) vec {
	sign := a.and(x, a.constBits(1<<31))
	b := a.xor(x, sign)
	e := a.exp(a.add(b, b))
	t := a.div(a.copyOf(a.constant(2)), a.add(e, a.constant(1)))
	t = a.or(a.sub(a.copyOf(a.constant(1)), t), sign)
	z := a.mul(x, x)
	p := a.horner(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	p = a.fma(a.mul(p, z), x, x)
	return a.choose(a.compare(lt, b, a.constant(0.625)), p, t)
}

// gauss is the normal distribution function Φ(x) and e^(-x²/2).
func (a *asm) gauss(x vec) (phi, e vec) {
	z := a.mul(a.abs(x), a.constant(math.Sqrt2/2))
	t := a.div(a.copyOf(a.constant(1)), a.fma(z, a.constant(0.5), a.constant(1)))
	p := a.horner(t, -0.0597149189613, 0.287768309514, -0.493863648741, 0.285697710262, -0.0318417573768,
		0.20485365512, 0.242572892956, 0.282445041969, 0.282082673667)
	p = a.mul(a.mul(p, a.constant(0.5)), t)
	e = a.exp(a.mul(a.mul(x, a.constant(-0.5)), x))
	q := a.mul(p, e)
	return a.choose(a.compare(gt, x, a.constant(0)), a.sub(a.copyOf(a.constant(1)), q), q), e
}

// geluArg is twice the argument of tanh in GELU's approximation.
func (a *asm) geluArg(x vec) vec {
	c := 2 * math.Sqrt(2/math.Pi)
	p := a.fma(a.mul(x, x), a.constant(c*0.044715), a.constant(c))
	return a.mul(x, p)
}

func (a *asm) negate(x vec) vec { return a.xor(x, a.constBits(1<<31)) }
func (a *asm) abs(x vec) vec    { return a.and(x, a.constBits(1<<31-1)) }

// atLeast and atMost clamp x and keep NaN.
func (a *asm) atLeast(lo float64, x vec) vec { return a.max(a.copyOf(a.constant(lo)), x) }
func (a *asm) atMost(hi float64, x vec) vec  { return a.min(a.copyOf(a.constant(hi)), x) }

// relu is max(0, x), x where x is NaN.
func (a *asm) relu(x vec) vec { return a.max(a.Zero(), x) }

// maxNaN is the larger of x and y, NaN when one is; minNaN likewise.
func (a *asm) maxNaN(x, y vec) vec { return a.choose(a.compare(un, x, x), x, a.max(x, y)) }
func (a *asm) minNaN(x, y vec) vec { return a.choose(a.compare(un, x, x), x, a.min(x, y)) }
