package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// conversion is a kernel between float32 and a narrower type. AVX-512 masks the tail; AVX2, which
// cannot mask narrow elements, does a multiple of 16 elements, and Go the rest.
type conversion struct {
	name, typ, signature string
	from, to             int // bytes an element
	body                 func(a *asm, src, dst operand.Mem, m *mask)
}

func (k *conversion) emit(a *asm) {
	a.begin(k.name, k.signature)
	dst, x, n, at := a.Pointer("dst"), a.Pointer("x"), a.Length("dst"), a.GP64()
	a.XORQ(at, at)
	step := func(disp int, m *mask) {
		k.body(a, operand.Mem{Base: x, Index: at, Scale: uint8(k.from), Disp: disp / 4 * k.from},
			operand.Mem{Base: dst, Index: at, Scale: uint8(k.to), Disp: disp / 4 * k.to}, m)
	}
	if a.Wide {
		a.OverRange(at, n, 2, step)
	} else {
		a.OverWhole(at, n, 1, step)
	}
	a.end()
}

var conversions = []conversion{
	{name: "toFloat16", typ: "toHalfKernel", signature: "func(dst []uint16, x []float32)", from: 4, to: 2,
		body: func(a *asm, src, dst operand.Mem, m *mask) {
			v := a.LoadVec(src, m)
			for h := range a.Halves() {
				if m != nil {
					a.VCVTPS2PH(operand.U8(0), v[h], m.K, dst)
				} else {
					a.VCVTPS2PH(operand.U8(0), v[h], dst.Offset(16*h))
				}
			}
		}},
	{name: "fromFloat16", typ: "fromHalfKernel", signature: "func(dst []float32, x []uint16)", from: 2, to: 4,
		body: func(a *asm, src, dst operand.Mem, m *mask) {
			v := a.NewVec()
			for h := range a.Halves() {
				if m != nil {
					a.VCVTPH2PS_Z(src, m.K, v[h])
				} else {
					a.VCVTPH2PS(src.Offset(16*h), v[h])
				}
			}
			a.StoreVec(v, dst, m)
		}},
	{name: "toBFloat16", typ: "toHalfKernel", signature: "func(dst []uint16, x []float32)", from: 4, to: 2,
		body: func(a *asm, src, dst operand.Mem, m *mask) {
			v := a.LoadVec(src, m)
			odd := a.and(a.shifted(a.VPSRLD, 16, v), a.constBits(1))
			r := a.shifted(a.VPSRLD, 16, a.addInts(a.addInts(v, a.constBits(0x7fff)), odd))
			quiet := a.or(a.shifted(a.VPSRLD, 16, v), a.constBits(0x40))
			a.storeWords(a.choose(a.compare(un, v, v), quiet, r), dst, m)
		}},
	{name: "fromBFloat16", typ: "fromHalfKernel", signature: "func(dst []float32, x []uint16)", from: 2, to: 4,
		body: func(a *asm, src, dst operand.Mem, m *mask) {
			v := a.NewVec()
			for h := range a.Halves() {
				if m != nil {
					a.VPMOVZXWD_Z(src, m.K, v[h])
				} else {
					a.VPMOVZXWD(src.Offset(16*h), v[h])
				}
			}
			a.StoreVec(a.shifted(a.VPSLLD, 16, v), dst, m)
		}},
}

// storeWords writes the lower halves of the lanes, whose upper halves are 0.
func (a *asm) storeWords(v vec, to operand.Mem, m *mask) {
	switch {
	case m != nil:
		a.VPMOVDW(v[0], m.K, to)
	case a.Wide:
		a.VPMOVDW(v[0], to)
	default:
		w := a.YMM()
		a.VPACKUSDW(v[1], v[0], w)
		a.VPERMQ(operand.U8(0xd8), w, w)
		a.VMOVDQU(w, to)
	}
}

func emitConversions(a *asm, names *registry) {
	for _, k := range conversions {
		k.emit(a)
		names.addWhole(k.name, k.typ, 1)
	}
}
