package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// Philox4x32-10: each lane encrypts a block of its own; see philox.go of package vec.

const (
	philoxM0, philoxM1 = 0xD2511F53, 0xCD9E8D57
	philoxW0, philoxW1 = 0x9E3779B9, 0xBB67AE85
	philoxRounds       = 10
)

// mulWide gives the upper and lower halves of the 64-bit products of lanes with a constant.
// The multiply takes even lanes: the odd ones are shifted down first, and their products merged.
func (a *asm) mulWide(x vec, by operand.Mem) (hi, lo vec) {
	odd := a.shifted(a.VPSRLQ, 32, x)
	even := a.apply(a.VPMULUDQ, a.VPMULUDQ_BCST, x, by, a.NewVec())
	odd = a.apply(a.VPMULUDQ, a.VPMULUDQ_BCST, odd, by, odd)
	hi = a.mergeOdd(a.shifted(a.VPSRLQ, 32, even), odd)
	lo = a.mergeOdd(even, a.shifted(a.VPSLLQ, 32, odd))
	return hi, lo
}

// mergeOdd takes the odd lanes of odd and the even ones of even.
func (a *asm) mergeOdd(even, odd vec) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		if a.Wide {
			a.blend(odd[h], even[h], a.odd, d[h])
		} else {
			a.VPBLENDD(operand.U8(0xaa), odd[h], even[h], d[h])
		}
	}
	return d
}

// philox encrypts the counters c in place under the keys k0, k1, the same for all lanes.
func (a *asm) philox(c *[4]vec, k0, k1 vec) {
	m0, m1 := a.constBits(philoxM0), a.constBits(philoxM1)
	for r := range philoxRounds {
		if r > 0 {
			k0, k1 = a.addInts(k0, a.constBits(philoxW0)), a.addInts(k1, a.constBits(philoxW1))
		}
		h0, l0 := a.mulWide(c[0], m0)
		h1, l1 := a.mulWide(c[2], m1)
		*c = [4]vec{a.xor(a.xor(h1, c[1]), k0), l1, a.xor(a.xor(h0, c[3]), k1), l0}
	}
}

// lanes is 0, 1, … 15 in dwords.
func (a *asm) lanes() operand.Mem {
	if a.numbers == nil {
		m := a.StaticGlobal("lanes")
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 16 {
			a.AddDatum(4*i, operand.U32(i))
		}
		a.numbers = &m
	}
	return *a.numbers
}

// random emits a kernel that makes the words of whole groups of 64 elements of dst. use turns the
// upper 24 bits of four times 16 words, with the elements of x at the same places, into numbers.
func (a *asm) random(name, signature string, use func(words [4]vec, x [4]operand.Mem, params []vec) [4]vec, in string, params ...string) {
	a.begin(name, signature)
	dst, n := a.Pointer("dst"), a.Length("dst")
	x := dst
	if in != "" {
		x = a.Pointer(in)
	}
	if a.Wide {
		ones := a.GP32()
		a.MOVL(operand.U32(0xaaaa), ones)
		a.odd = a.K()
		a.KMOVW(ones, a.odd)
	}
	block := a.GP32()
	a.Load(a.Param("first"), block)
	at := a.GP64()
	a.XORQ(at, at)
	loop, done := a.NewLabel("group"), a.NewLabel("done")
	a.SHRQ(operand.U8(6), n)
	a.JZ(operand.LabelRef(done))
	a.Label(loop)
	a.byHalves(nil, func(h int, _ *mask) {
		first := a.NewVec()
		t := a.XMM()
		a.VMOVD(block, t)
		a.VPBROADCASTD(t, first[0])
		numbers := a.NewVec()
		a.VMOVUPS(a.lanes().Offset(32*h), numbers[0])
		c := [4]vec{a.addInts(first, numbers), a.Scalar("layer"), a.Scalar("step0"), a.Scalar("step1")}
		a.philox(&c, a.Scalar("key0"), a.Scalar("key1"))
		var p []vec
		for _, name := range params {
			p = append(p, a.Scalar(name))
		}
		var from [4]operand.Mem
		for k := range c {
			c[k] = a.shifted(a.VPSRLD, 8, c[k])
			from[k] = operand.Mem{Base: x, Index: at, Scale: 4, Disp: 64*k + 32*h}
		}
		for k, v := range use(c, from, p) {
			a.StoreVec(v, operand.Mem{Base: dst, Index: at, Scale: 4, Disp: 64*k + 32*h}, nil)
		}
	})
	a.ADDQ(operand.U32(64), at)
	a.ADDL(operand.U32(16), block)
	a.DECQ(n)
	a.JNZ(operand.LabelRef(loop))
	a.Label(done)
	a.end()
}

const counterParams = "first, layer, step0, step1, key0, key1"

func emitRandom(a *asm, names *registry) {
	a.random("dropout", "func(dst, x []float32, "+counterParams+", threshold uint32, scale float32)",
		func(words [4]vec, x [4]operand.Mem, p []vec) (out [4]vec) {
			least := a.toFloats(p[0]) // both are below 2²⁴: exact as floats
			for k := range out {
				out[k] = a.keep(a.compare(ge, a.toFloats(words[k]), least), a.mul(a.LoadVec(x[k], nil), p[1]))
			}
			return out
		}, "x", "threshold", "scale")
	a.random("uniform", "func(dst []float32, "+counterParams+" uint32, a, b float32)",
		func(words [4]vec, _ [4]operand.Mem, p []vec) (out [4]vec) {
			for k := range out {
				out[k] = a.add(a.mul(a.toFloats(words[k]), p[1]), p[0])
			}
			return out
		}, "", "a", "b")
	a.unfused = true
	a.random("normal", "func(dst []float32, "+counterParams+" uint32, mean, std float32)",
		func(words [4]vec, _ [4]operand.Mem, p []vec) (out [4]vec) {
			for k := 0; k < 4; k += 2 {
				out[k], out[k+1] = a.normalPair(words[k], words[k+1])
			}
			for k := range out {
				out[k] = a.add(a.mul(out[k], p[1]), p[0])
			}
			return out
		}, "", "mean", "std")
	a.unfused = false
	names.add("dropout", "dropoutKernel")
	names.add("uniform", "uniformKernel")
	names.add("normal", "uniformKernel")
}

// normalPair is the transform of Box and Muller, operation by operation as in normal.go.
func (a *asm) normalPair(w0, w1 vec) (x, y vec) {
	u := a.mul(a.add(a.toFloats(w0), a.constant(0.5)), a.constant(0x1p-24))
	r := a.sqrt(a.mul(a.log(u), a.constant(-2)))
	v := a.mul(a.toFloats(w1), a.constant(0x1p-22))
	q := a.round(v)
	f := a.mul(a.sub(v, q), a.constant(1.57079632679489661923))
	z := a.mul(f, f)
	sin := a.horner(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
	sin = a.add(a.mul(a.mul(sin, z), f), f)
	cos := a.horner(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
	cos = a.mul(a.mul(cos, z), z)
	cos = a.add(a.sub(cos, a.mul(z, a.constant(0.5))), a.constant(1))
	quarter := a.toInts(q)
	odd := a.equalInts(a.and(quarter, a.constBits(1)), a.copyOf(a.constBits(1)))
	sign := func(q vec) vec { return a.shifted(a.VPSLLD, 30, a.and(q, a.constBits(2))) }
	x = a.xor(a.choose(odd, sin, cos), sign(a.addInts(quarter, a.constBits(1))))
	y = a.xor(a.choose(odd, cos, sin), sign(quarter))
	return a.mul(r, x), a.mul(r, y)
}
