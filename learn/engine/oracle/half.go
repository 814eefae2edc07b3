package oracle

import "math"

// roundTo rounds x to a floating-point number with the given bits of significand (the hidden
// one included), smallest exponent of a normal number and largest finite number; ties go to
// the even neighbour.
func roundTo(x float64, bits, minExp int, largest float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x) // |x| in [2^(e-1), 2^e)
	unit := math.Ldexp(1, max(e-1, minExp)-(bits-1))
	y := math.RoundToEven(x/unit) * unit
	if math.Abs(y) > largest {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return y
}

// roundHalf rounds a float32 to IEEE half precision, roundBrain to bfloat16.
func roundHalf(x float64) float64  { return roundTo(float64(float32(x)), 11, -14, 65504) }
func roundBrain(x float64) float64 { return roundTo(float64(float32(x)), 8, -126, 0x1.fep127) }

// fromHalf decodes IEEE half precision.
func fromHalf(b uint16) float64 {
	sign := 1.0
	if b>>15 == 1 {
		sign = -1
	}
	exp, frac := int(b>>10&31), float64(b&1023)
	switch exp {
	case 0:
		return sign * frac * 0x1p-24
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1+frac/1024, exp-15)
}

// toHalf encodes a number that roundHalf leaves alone.
func toHalf(x float64) uint16 {
	var sign uint16
	if math.Signbit(x) {
		sign, x = 1<<15, -x
	}
	switch {
	case math.IsNaN(x):
		return 0x7e00
	case math.IsInf(x, 1):
		return sign | 0x7c00
	case x < 0x1p-14:
		return sign | uint16(x*0x1p24)
	}
	frac, e := math.Frexp(x)
	return sign | uint16(e+14)<<10 | uint16((frac*2-1)*1024)
}
