package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"
)

type op3 = func(ops ...operand.Op)

// apply emits d = x op y for each register; y may be a constant, which AVX-512 broadcasts.
// The instruction's first operand is y.
func (a *asm) apply(op, bcst op3, x vec, y src, d vec) vec {
	for h := range a.Halves() {
		switch c, isConst := y.(operand.Mem); {
		case isConst && a.Wide:
			bcst(c, x[h], d[h])
		case isConst:
			op(c, x[h], d[h])
		default:
			op(y.(vec)[h], x[h], d[h])
		}
	}
	return d
}

func (a *asm) add(x vec, y src) vec { return a.apply(a.VADDPS, a.VADDPS_BCST, x, y, a.NewVec()) }
func (a *asm) sub(x vec, y src) vec { return a.apply(a.VSUBPS, a.VSUBPS_BCST, x, y, a.NewVec()) }
func (a *asm) mul(x vec, y src) vec { return a.apply(a.VMULPS, a.VMULPS_BCST, x, y, a.NewVec()) }
func (a *asm) div(x vec, y src) vec { return a.apply(a.VDIVPS, a.VDIVPS_BCST, x, y, a.NewVec()) }

// max is x > y ? x : y, so y where either is NaN; min likewise.
func (a *asm) max(x vec, y src) vec { return a.apply(a.VMAXPS, a.VMAXPS_BCST, x, y, a.NewVec()) }
func (a *asm) min(x vec, y src) vec { return a.apply(a.VMINPS, a.VMINPS_BCST, x, y, a.NewVec()) }

func (a *asm) and(x vec, y src) vec { return a.apply(a.VANDPS, a.VANDPS_BCST, x, y, a.NewVec()) }
func (a *asm) or(x vec, y src) vec  { return a.apply(a.VORPS, a.VORPS_BCST, x, y, a.NewVec()) }
func (a *asm) xor(x vec, y src) vec { return a.apply(a.VXORPS, a.VXORPS_BCST, x, y, a.NewVec()) }

func (a *asm) addInts(x vec, y src) vec { return a.apply(a.VPADDD, a.VPADDD_BCST, x, y, a.NewVec()) }
func (a *asm) subInts(x vec, y src) vec { return a.apply(a.VPSUBD, a.VPSUBD_BCST, x, y, a.NewVec()) }

// addTo is acc += x.
func (a *asm) addTo(acc vec, x src) { a.apply(a.VADDPS, a.VADDPS_BCST, acc, x, acc) }

// fmaTo is acc += x·y.
func (a *asm) fmaTo(acc, x vec, y src) {
	if a.unfused {
		a.addTo(acc, a.mul(x, y))
		return
	}
	a.apply(a.VFMADD231PS, a.VFMADD231PS_BCST, x, y, acc)
}

// fma is x·y + c.
func (a *asm) fma(x vec, y, c src) vec {
	d := a.copyOf(c)
	a.fmaTo(d, x, y)
	return d
}

// mulAdd is x·y + c in x's registers.
func (a *asm) mulAdd(x, y, c vec) vec {
	for h := range a.Halves() {
		a.VFMADD213PS(c[h], y[h], x[h])
	}
	return x
}

// fnma is c - x·y.
func (a *asm) fnma(x vec, y, c src) vec {
	if a.unfused {
		return a.sub(a.copyOf(c), a.mul(x, y))
	}
	return a.apply(a.VFNMADD231PS, a.VFNMADD231PS_BCST, x, y, a.copyOf(c))
}

// horner evaluates the polynomial with the given coefficients, highest power first.
func (a *asm) horner(x vec, coef ...float64) vec {
	p := a.copyOf(a.constant(coef[0]))
	for _, c := range coef[1:] {
		if a.unfused {
			p = a.add(a.mul(p, x), a.constant(c))
			continue
		}
		a.apply(a.VFMADD213PS, a.VFMADD213PS_BCST, x, a.constant(c), p)
	}
	return p
}

func (a *asm) sqrt(x vec) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		a.VSQRTPS(x[h], d[h])
	}
	return d
}

// round is x rounded to the nearest whole number, ties to even.
func (a *asm) round(x vec) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		if a.Wide {
			a.VRNDSCALEPS(operand.U8(8), x[h], d[h])
		} else {
			a.VROUNDPS(operand.U8(8), x[h], d[h])
		}
	}
	return d
}

// toInts and toFloats convert between float32 and int32 lanes.
func (a *asm) toInts(x vec) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		a.VCVTPS2DQ(x[h], d[h])
	}
	return d
}

func (a *asm) toFloats(x vec) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		a.VCVTDQ2PS(x[h], d[h])
	}
	return d
}

type shift = func(ops ...operand.Op)

// shifted applies a shift of 32- or 64-bit lanes by n bits.
func (a *asm) shifted(op shift, n int, x vec) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		op(operand.U8(n), x[h], d[h])
	}
	return d
}

// Predicates of compare: ordered, quiet, except where said.
const (
	eq = 0x00
	lt = 0x11
	le = 0x12
	ge = 0x1d
	gt = 0x1e
	un = 0x03 // unordered: an operand is NaN
	ng = 0x19 // not ≥: less or unordered
)

// compare is the mask of lanes where x p y.
func (a *asm) compare(p int, x vec, y src) *mask {
	m := &mask{}
	if a.Wide {
		m.K = a.K()
		if c, ok := y.(operand.Mem); ok {
			a.VCMPPS_BCST(operand.U8(p), c, x[0], m.K)
		} else {
			a.VCMPPS(operand.U8(p), y.(vec)[0], x[0], m.K)
		}
		return m
	}
	m.V = a.NewVec()
	for h := range a.Halves() {
		if c, ok := y.(operand.Mem); ok {
			a.VCMPPS(operand.U8(p), c, x[h], m.V[h])
		} else {
			a.VCMPPS(operand.U8(p), y.(vec)[h], x[h], m.V[h])
		}
	}
	return m
}

// equalInts is the mask of lanes where the integers x and y are equal.
func (a *asm) equalInts(x, y vec) *mask {
	m := &mask{}
	if a.Wide {
		m.K = a.K()
		a.VPCMPEQD(y[0], x[0], m.K)
		return m
	}
	m.V = a.NewVec()
	for h := range a.Halves() {
		a.VPCMPEQD(y[h], x[h], m.V[h])
	}
	return m
}

// either and both join masks.
func (a *asm) either(p, q *mask) *mask {
	if a.Wide {
		m := &mask{K: a.K()}
		a.KORW(p.K, q.K, m.K)
		return m
	}
	return &mask{V: a.or(p.V, q.V)}
}

// choose is x where the mask is set and y elsewhere.
func (a *asm) choose(m *mask, x vec, y src) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		c, isConst := y.(operand.Mem)
		switch {
		case a.Wide && isConst:
			b := a.copyOf(c)
			a.blend(x[h], b[h], m.K, d[h])
		case a.Wide:
			a.blend(x[h], y.(vec)[h], m.K, d[h])
		case isConst:
			b := a.Register()
			a.VMOVUPS(c, b)
			a.VBLENDVPS(m.V[h], x[h], b, d[h])
		default:
			a.VBLENDVPS(m.V[h], x[h], y.(vec)[h], d[h])
		}
	}
	return d
}

// blend is x where k is set and y elsewhere. avo takes every masked instruction but those that zero
// to read its destination, which a blend does not: told so, it would keep registers for nothing.
func (a *asm) blend(x, y reg.VecVirtual, k reg.OpmaskVirtual, d reg.VecVirtual) {
	i, err := x86.VPBLENDMD(x, y, k, d)
	if err != nil {
		panic(err)
	}
	i.Inputs = []operand.Op{x, y, k}
	a.Instruction(i)
}

// keep is x where the mask is set and 0 elsewhere.
func (a *asm) keep(m *mask, x vec) vec {
	d := a.NewVec()
	for h := range a.Halves() {
		if a.Wide {
			a.VMOVAPS_Z(x[h], m.K, d[h])
		} else {
			a.VANDPS(x[h], m.V[h], d[h])
		}
	}
	return d
}

// fold joins the lanes: 16 → 8 → 4 → 2 → 1, the upper half onto the lower each time.
func (a *asm) fold(join func(a *asm, x, y vec) vec, v vec) reg.VecVirtual {
	wide, single := a.Wide, a.Single
	defer func() { a.Wide, a.Single = wide, single }()
	hi := vec{v[1]}
	if wide {
		hi = vec{a.YMM()}
		a.VEXTRACTF64X4(operand.U8(1), v[0], hi[0])
	}
	a.Wide, a.Single = false, true // from here on one 256-bit register
	y := join(a, vec{v[0].AsY().(reg.VecVirtual)}, hi)
	for _, exchange := range []func(x, d reg.VecVirtual){
		func(x, d reg.VecVirtual) { a.VPERM2F128(operand.U8(1), x, x, d) },
		func(x, d reg.VecVirtual) { a.VPERMILPS(operand.U8(0x4e), x, d) },
		func(x, d reg.VecVirtual) { a.VPERMILPS(operand.U8(0xb1), x, d) },
	} {
		t := vec{a.YMM()}
		exchange(y[0], t[0])
		y = join(a, y, t)
	}
	return y[0]
}
