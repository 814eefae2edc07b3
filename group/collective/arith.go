package collective

import (
	"math"

	"millrace.dev/group/internal/vec"
	"millrace.dev/group/reduce"
)

// arithmetic is what can be done with buffers of one type. Destinations may be operands.
type arithmetic struct {
	sum, min, max func(dst, a, b []byte)
	weigh         func(dst, a []byte, m uint64) // dst = m·a, for float types
	scale         func(dst []byte, m uint64)    // dst = dst·float(1/m), for integers dst/m
}

var arithmetics = [...]arithmetic{
	Int8: integer[int8](), Int16: integer[int16](), Int32: integer[int32](), Int64: integer[int64](),
	Uint8: natural[uint8](), Uint16: natural[uint16](), Uint32: natural[uint32](), Uint64: natural[uint64](),
	Float16: half(fromFloat16, toFloat16), BFloat16: half(fromBFloat16, toBFloat16),
	Float32: float32s(), Float64: float[float64](),
}

// combine does dst = a op b.
func combine(t Type, op Op, dst, a, b []byte) {
	k := &arithmetics[t]
	switch op {
	case Min:
		k.min(dst, a, b)
	case Max:
		k.max(dst, a, b)
	default:
		k.sum(dst, a, b)
	}
}

// finish makes a reduction of all into its result: of n members, or of samples of total weight m.
func finish(t Type, op Op, dst []byte, n int, m uint64) {
	switch op {
	case Mean:
		arithmetics[t].scale(dst, uint64(n))
	case WeightedMean:
		arithmetics[t].scale(dst, m)
	}
}

func basic[T Number]() arithmetic {
	return arithmetic{
		sum: func(dst, a, b []byte) {
			d, x, y := view[T](dst), view[T](a), view[T](b)
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] + y[i]
			}
		},
		min: func(dst, a, b []byte) {
			d, x, y := view[T](dst), view[T](a), view[T](b)
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = min(x[i], y[i])
			}
		},
		max: func(dst, a, b []byte) {
			d, x, y := view[T](dst), view[T](a), view[T](b)
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = max(x[i], y[i])
			}
		},
	}
}

func integer[T int8 | int16 | int32 | int64]() arithmetic {
	a := basic[T]()
	a.scale = func(dst []byte, m uint64) {
		for i, x := range view[T](dst) {
			view[T](dst)[i] = T(int64(x) / int64(m))
		}
	}
	return a
}

func natural[T uint8 | uint16 | uint32 | uint64]() arithmetic {
	a := basic[T]()
	a.scale = func(dst []byte, m uint64) {
		for i, x := range view[T](dst) {
			view[T](dst)[i] = T(uint64(x) / m)
		}
	}
	return a
}

func float[T float32 | float64]() arithmetic {
	a := basic[T]()
	a.weigh = func(dst, src []byte, m uint64) {
		d, x, w := view[T](dst), view[T](src), T(m)
		x = x[:len(d)]
		for i := range d {
			d[i] = w * x[i]
		}
	}
	a.scale = func(dst []byte, m uint64) {
		d, s := view[T](dst), T(1/float64(m))
		for i := range d {
			d[i] *= s
		}
	}
	return a
}

// float32s is the arithmetic of most gradients, by kernels: a factor of 1 is exact.
func float32s() arithmetic {
	a := float[float32]()
	a.sum = func(dst, a, b []byte) {
		vec.WeightedSum(view[float32](dst), view[float32](a), view[float32](b), 1, 1)
	}
	a.weigh = func(dst, a []byte, m uint64) { vec.Scaled(view[float32](dst), view[float32](a), float32(m), 1) }
	a.scale = func(dst []byte, m uint64) {
		vec.Scaled(view[float32](dst), view[float32](dst), 1, reduce.Scale(m))
	}
	return a
}

// half is the arithmetic of a 16-bit float type by way of float32.
func half(from func(uint16) float32, to func(float32) uint16) arithmetic {
	by := func(f func(x, y float32) float32) func(dst, a, b []byte) {
		return func(dst, a, b []byte) {
			d, x, y := view[uint16](dst), view[uint16](a), view[uint16](b)
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = to(f(from(x[i]), from(y[i])))
			}
		}
	}
	return arithmetic{
		sum: by(func(x, y float32) float32 { return x + y }),
		min: by(func(x, y float32) float32 { return min(x, y) }),
		max: by(func(x, y float32) float32 { return max(x, y) }),
		weigh: func(dst, a []byte, m uint64) {
			d, x, w := view[uint16](dst), view[uint16](a), float32(m)
			x = x[:len(d)]
			for i := range d {
				d[i] = to(w * from(x[i]))
			}
		},
		scale: func(dst []byte, m uint64) {
			d, s := view[uint16](dst), reduce.Scale(m)
			for i := range d {
				d[i] = to(from(d[i]) * s)
			}
		},
	}
}

func fromBFloat16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// toBFloat16 rounds to the nearest, ties to even.
func toBFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func fromFloat16(h uint16) float32 {
	sign, exp, frac := uint32(h&0x8000)<<16, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // zero and denormals: frac·2⁻²⁴
		return math.Float32frombits(math.Float32bits(float32(frac)*0x1p-24) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// toFloat16 rounds to the nearest, ties to even.
func toFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	sign, abs := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00 | uint16(abs>>13&0x1ff)
	case abs >= 0x477ff000: // rounds to 2¹⁶ or more
		return sign | 0x7c00
	case abs < 0x38800000: // below 2⁻¹⁴: adding 2⁻¹·2⁰ leaves units of 2⁻²⁴, rounded
		return sign | uint16(math.Float32bits(math.Float32frombits(abs)+0.5)-math.Float32bits(0.5))
	}
	abs += 0xfff + abs>>13&1
	return sign | uint16(abs>>13-112<<10)
}
