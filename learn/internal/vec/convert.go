package vec

import "math"

type (
	toHalfKernel   = func(dst []uint16, x []float32)
	fromHalfKernel = func(dst []float32, x []uint16)
)

// ToFloat16 rounds x to IEEE 754 binary16, to nearest even; too large numbers become infinite.
func ToFloat16(dst []uint16, x []float32) { toHalf(&toFloat16Tab, dst, x) }

// ToBFloat16 rounds x to bfloat16, to nearest even; a NaN stays one.
func ToBFloat16(dst []uint16, x []float32) { toHalf(&toBFloat16Tab, dst, x) }

// FromFloat16 widens IEEE 754 binary16.
func FromFloat16(dst []float32, x []uint16) { fromHalf(&fromFloat16Tab, dst, x) }

// FromBFloat16 widens bfloat16.
func FromBFloat16(dst []float32, x []uint16) { fromHalf(&fromBFloat16Tab, dst, x) }

func toHalf(t *table[toHalfKernel], dst []uint16, x []float32) {
	f := t.pick()
	x = x[:len(dst)]
	for len(dst) > block {
		f(dst[:block], x[:block])
		dst, x = dst[block:], x[block:]
	}
	f(dst, x)
}

func fromHalf(t *table[fromHalfKernel], dst []float32, x []uint16) {
	f := t.pick()
	x = x[:len(dst)]
	for len(dst) > block {
		f(dst[:block], x[:block])
		dst, x = dst[block:], x[block:]
	}
	f(dst, x)
}

func toFloat16Generic(dst []uint16, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = float16Bits(math.Float32bits(v))
	}
}

// float16Bits rounds the bits of a float32 to those of a binary16.
func float16Bits(b uint32) uint16 {
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN: keep the upper payload bits, quiet
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x477ff000: // rounds to infinity
		return sign | 0x7c00
	case b >= 0x38800000: // normal: rebias the exponent, round the 13 lower bits away
		b -= 112 << 23
		return sign | uint16((b+0xfff+b>>13&1)>>13)
	case b < 0x33000000: // at most half the smallest denormal
		return sign
	}
	shift := 126 - b>>23 // denormal: 14 to 24 bits of the significand go
	m := b&0x7fffff | 0x800000
	half := uint32(1) << (shift - 1)
	return sign | uint16((m+half-1+m>>shift&1)>>shift)
}

func fromFloat16Generic(dst []float32, x []uint16) {
	for i, h := range x[:len(dst)] {
		dst[i] = math.Float32frombits(float32Bits(h))
	}
}

// float32Bits widens the bits of a binary16.
func float32Bits(h uint16) uint32 {
	sign, b := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case b > 0x7c00: // NaN, made quiet
		return sign | 0x7fc00000 | b<<13
	case b == 0x7c00:
		return sign | 0x7f800000
	case b >= 0x400:
		return sign | (b<<13 + 112<<23)
	}
	return sign | math.Float32bits(float32(b)*0x1p-24)
}

func toBFloat16Generic(dst []uint16, x []float32) {
	for i, v := range x[:len(dst)] {
		b := math.Float32bits(v)
		if v != v {
			dst[i] = uint16(b>>16 | 0x40)
		} else {
			dst[i] = uint16((b + 0x7fff + b>>16&1) >> 16)
		}
	}
}

func fromBFloat16Generic(dst []float32, x []uint16) {
	for i, h := range x[:len(dst)] {
		dst[i] = math.Float32frombits(uint32(h) << 16)
	}
}
