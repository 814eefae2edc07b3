package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Max pooling, vectors along the channels. Tap numbers are bytes in memory and dwords in registers.
// AVX2 has no byte masks, so its kernels want a multiple of 16 channels; Go sees to it.

// byChannel emits step for each vector of c channels, for each of n pixels. at is the channel's
// index, and pixel runs once after each pixel.
func (a *asm) byChannel(n reg.GPVirtual, step func(at reg.GPVirtual, m *mask), pixel func()) {
	pixels, done := a.NewLabel("pixel"), a.NewLabel("done")
	a.TESTQ(n, n)
	a.JZ(operand.LabelRef(done))
	a.Label(pixels)
	left, at := a.integer("c"), a.GP64()
	a.XORQ(at, at)
	loop, tail, next := a.NewLabel("channels"), a.NewLabel("tail"), a.NewLabel("next")
	a.CMPQ(left, operand.U32(16))
	a.JB(operand.LabelRef(tail))
	a.Label(loop)
	step(at, nil)
	a.ADDQ(operand.U32(16), at)
	a.SUBQ(operand.U32(16), left)
	a.CMPQ(left, operand.U32(16))
	a.JAE(operand.LabelRef(loop))
	a.Label(tail)
	if a.Wide {
		a.TESTQ(left, left)
		a.JZ(operand.LabelRef(next))
		step(at, a.TailMask(left))
	}
	a.Label(next)
	pixel()
	a.DECQ(n)
	a.JNZ(operand.LabelRef(pixels))
	a.Label(done)
}

// storeBytes writes the lowest bytes of the lanes.
func (a *asm) storeBytes(v vec, to operand.Mem, m *mask) {
	switch {
	case m != nil:
		a.VPMOVDB(v[0], m.K, to)
	case a.Wide:
		a.VPMOVDB(v[0], to)
	default:
		w, hi := a.YMM(), a.XMM()
		a.VPACKUSDW(v[1], v[0], w)
		a.VPERMQ(operand.U8(0xd8), w, w) // the pack works within 128 bits
		a.VEXTRACTI128(operand.U8(1), w, hi)
		b := a.XMM()
		a.VPACKUSWB(hi, w.AsX(), b)
		a.VMOVDQU(b, to)
	}
}

// loadBytes widens bytes to dwords.
func (a *asm) loadBytes(from operand.Mem, m *mask) vec {
	v := a.NewVec()
	switch {
	case m != nil:
		a.VPMOVZXBD_Z(from, m.K, v[0])
	case a.Wide:
		a.VPMOVZXBD(from, v[0])
	default:
		for h := range 2 {
			a.VPMOVZXBD(from.Offset(8*h), v[h])
		}
	}
	return v
}

// integers broadcasts an int parameter as dwords.
func (a *asm) integers(name string) vec {
	x, v := a.XMM(), a.NewVec()
	a.VMOVD(a.integer(name).As32(), x)
	for h := range a.Halves() {
		a.VPBROADCASTD(x, v[h])
	}
	return v
}

// bytesOf loads an int parameter that counts floats, in bytes.
func (a *asm) bytesOf(name string) reg.GPVirtual {
	r := a.integer(name)
	a.SHLQ(operand.U8(2), r)
	return r
}

func emitMaxPool(a *asm) {
	a.begin("maxPool", "func(dst []float32, arg []uint8, x []float32, n, c, kh, kw, pixel, rowStep, tapStep, first, width int)")
	dst, arg, x := a.Pointer("dst"), a.Pointer("arg"), a.Pointer("x")
	n := a.integer("n")
	rowStep, tapStep := a.bytesOf("rowStep"), a.bytesOf("tapStep")
	first := a.integers("first")
	// From the last tap of a row to the first of the next, the number grows by width - kw more than by 1.
	skip := a.integers("width")
	skip = a.subInts(skip, a.integers("kw"))
	step := func(at reg.GPVirtual, m *mask) {
		best := a.copyOf(a.constant(math.Inf(-1)))
		num, arg4 := a.assigned(first), a.assigned(first)
		row, rows := a.GP64(), a.integer("kh")
		a.LEAQ(operand.Mem{Base: x, Index: at, Scale: 4}, row)
		rowLoop := a.NewLabel("windowRow")
		a.Label(rowLoop)
		tap, taps := a.GP64(), a.integer("kw")
		a.MOVQ(row, tap)
		tapLoop := a.NewLabel("tap")
		a.Label(tapLoop)
		v := a.LoadVec(operand.Mem{Base: tap}, m)
		take := a.either(a.compare(gt, v, best), a.compare(un, v, v))
		a.assign(best, a.choose(take, v, best))
		a.assign(arg4, a.choose(take, num, arg4))
		a.assign(num, a.addInts(num, a.constBits(1)))
		a.ADDQ(tapStep, tap)
		a.DECQ(taps)
		a.JNZ(operand.LabelRef(tapLoop))
		a.assign(num, a.addInts(num, skip))
		a.ADDQ(rowStep, row)
		a.DECQ(rows)
		a.JNZ(operand.LabelRef(rowLoop))
		a.StoreVec(best, operand.Mem{Base: dst, Index: at, Scale: 4}, m)
		a.storeBytes(arg4, operand.Mem{Base: arg, Index: at, Scale: 1}, m)
	}
	a.byChannel(n, step, func() {
		c := a.integer("c")
		a.ADDQ(c, arg)
		a.LEAQ(operand.Mem{Base: dst, Index: c, Scale: 4}, dst)
		a.ADDQ(a.bytesOf("pixel"), x)
	})
	a.end()
}

// assigned is a copy that may be changed.
func (a *asm) assigned(v vec) vec {
	d := a.NewVec()
	a.assign(d, v)
	return d
}

// emitUnpool spreads a row of gradients over the taps of its windows.
func emitUnpool(a *asm, name string, add bool) {
	a.begin(name, "func(dx, dy []float32, arg []uint8, y []float32, n, c, kw, pixel, tapStep, first int)")
	dx, dy, arg, y := a.Pointer("dx"), a.Pointer("dy"), a.Pointer("arg"), a.Pointer("y")
	masked := a.Length("y")
	n, tapStep := a.integer("n"), a.bytesOf("tapStep")
	first := a.integers("first")
	step := func(at reg.GPVirtual, m *mask) {
		g := a.LoadVec(operand.Mem{Base: dy, Index: at, Scale: 4}, m)
		bare := a.NewLabel("bare")
		a.TESTQ(masked, masked)
		a.JZ(operand.LabelRef(bare))
		ys := a.LoadVec(operand.Mem{Base: y, Index: at, Scale: 4}, m)
		a.assign(g, a.keep(a.compare(gt, ys, a.constant(0)), g))
		a.Label(bare)
		num := a.loadBytes(operand.Mem{Base: arg, Index: at, Scale: 1}, m)
		want := a.assigned(first)
		tap, taps := a.GP64(), a.integer("kw")
		a.LEAQ(operand.Mem{Base: dx, Index: at, Scale: 4}, tap)
		loop := a.NewLabel("tap")
		a.Label(loop)
		v := a.keep(a.equalInts(num, want), g)
		if add {
			v = a.add(a.LoadVec(operand.Mem{Base: tap}, m), v)
		}
		a.StoreVec(v, operand.Mem{Base: tap}, m)
		a.assign(want, a.addInts(want, a.constBits(1)))
		a.ADDQ(tapStep, tap)
		a.DECQ(taps)
		a.JNZ(operand.LabelRef(loop))
	}
	a.byChannel(n, step, func() {
		c := a.integer("c")
		a.ADDQ(c, arg)
		for _, p := range []reg.GPVirtual{dy, y} {
			a.LEAQ(operand.Mem{Base: p, Index: c, Scale: 4}, p)
		}
		a.ADDQ(a.bytesOf("pixel"), dx)
	})
	a.end()
}

func emitPools(a *asm, names *registry) {
	emitMaxPool(a)
	emitUnpool(a, "unpoolSet", false)
	emitUnpool(a, "unpoolAdd", true)
	names.addWhole("maxPool", "maxPoolKernel", 1)
	names.addWhole("unpoolSet", "unpoolKernel", 1)
	names.addWhole("unpoolAdd", "unpoolKernel", 1)
}
