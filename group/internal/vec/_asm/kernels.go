package main

import (
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// kernel computes r from slices of the same length, element by element. Products are rounded before they are
// added, as plain Go does where it is told to.
type kernel struct {
	name    string
	in      string // names of the slices that are read
	scalars string // names of the float32 parameters
	check   bool   // reports whether all of r is finite
	body    func(a *asm, x, s []reg.VecVirtual) reg.VecVirtual
}

var kernels = []kernel{
	{"weightedSum", "a b", "ma mb", false, weightedSum},
	{"weightedMean", "a b", "ma mb scale", true, func(a *asm, x, s []reg.VecVirtual) reg.VecVirtual {
		sum := weightedSum(a, x, s)
		a.VMULPS(s[2], sum, sum)
		return sum
	}},
	{"scaled", "a", "m scale", true, func(a *asm, x, s []reg.VecVirtual) reg.VecVirtual {
		a.VMULPS(s[0], x[0], x[0])
		a.VMULPS(s[1], x[0], x[0])
		return x[0]
	}},
}

func weightedSum(a *asm, x, s []reg.VecVirtual) reg.VecVirtual {
	a.VMULPS(s[0], x[0], x[0])
	a.VMULPS(s[1], x[1], x[1])
	a.VADDPS(x[1], x[0], x[0])
	return x[0]
}

// asm emits code for one instruction set: registers of 16 lanes when wide, else of 8.
type asm struct {
	*build.Context
	wide  bool
	masks operand.Mem // AVX2: 8 dwords of ones, then 8 of zeros
}

func newAsm(wide bool) *asm {
	a := &asm{Context: build.NewContext(), wide: wide}
	a.ConstraintExpr("amd64")
	if !wide {
		a.masks = a.StaticGlobal("masks")
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 16 {
			v := uint32(0)
			if i < 8 {
				v = ^v
			}
			a.AddDatum(4*i, operand.U32(v))
		}
	}
	return a
}

func (a *asm) suffix() string {
	if a.wide {
		return "AVX512"
	}
	return "AVX2"
}

func (a *asm) lanes() int {
	if a.wide {
		return 16
	}
	return 8
}

func (a *asm) register() reg.VecVirtual {
	if a.wide {
		return a.ZMM()
	}
	return a.YMM()
}

// unroll is the number of registers' worth of elements of an iteration of the main loop.
const unroll = 4

// emit writes a kernel's loops: unrolled, single registers, and a masked tail.
func (a *asm) emit(k kernel) {
	in, scalars := strings.Fields(k.in), strings.Fields(k.scalars)
	a.Function(k.name + a.suffix())
	a.Attributes(attr.NOSPLIT)
	signature := "func(r, " + strings.Join(in, ", ") + " []float32, " + strings.Join(scalars, ", ") + " float32)"
	if k.check {
		signature += " bool"
	}
	a.SignatureExpr(signature)
	a.Pragma("noescape")

	r := a.Load(a.Param("r").Base(), a.GP64()).(reg.GPVirtual)
	n := a.Load(a.Param("r").Len(), a.GP64()).(reg.GPVirtual)
	var from []reg.GPVirtual
	for _, name := range in {
		from = append(from, a.Load(a.Param(name).Base(), a.GP64()).(reg.GPVirtual))
	}
	var s []reg.VecVirtual
	for _, name := range scalars {
		b, err := a.Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		v := a.register()
		a.VBROADCASTSS(b.Addr, v)
		s = append(s, v)
	}
	var bad reg.VecVirtual // bits that are set once an element is not finite
	if k.check {
		bad = a.register()
		a.xor(bad)
	}
	at := a.GP64()
	a.XORQ(at, at)

	step := func(disp int, m *mask) {
		place := func(base reg.GPVirtual) operand.Mem {
			return operand.Mem{Base: base, Index: at, Scale: 4, Disp: disp}
		}
		var x []reg.VecVirtual
		for _, base := range from {
			x = append(x, a.load(place(base), m))
		}
		y := k.body(a, x, s)
		a.store(y, place(r), m)
		if k.check { // x-x is 0 unless x is infinite or not a number
			a.VSUBPS(y, y, y)
			a.or(y, bad)
		}
	}
	for _, u := range []int{unroll, 1} {
		loop, done := "loop"+string(rune('0'+u)), "done"+string(rune('0'+u))
		size := operand.U32(uint32(u * a.lanes()))
		a.CMPQ(n, size)
		a.JB(operand.LabelRef(done))
		a.Label(loop)
		for i := range u {
			step(4*a.lanes()*i, nil)
		}
		a.ADDQ(size, at)
		a.SUBQ(size, n)
		a.CMPQ(n, size)
		a.JAE(operand.LabelRef(loop))
		a.Label(done)
	}
	a.TESTQ(n, n)
	a.JZ(operand.LabelRef("end"))
	step(0, a.tailMask(n))
	a.Label("end")
	if k.check {
		a.Store(a.isZero(bad), a.ReturnIndex(0))
	}
	a.VZEROUPPER()
	a.RET()
}

// mask says which lanes of a tail exist: an opmask, or a register of dwords.
type mask struct {
	k reg.OpmaskVirtual
	v reg.VecVirtual
}

// tailMask makes the mask of the first n lanes, fewer than a register has.
func (a *asm) tailMask(n reg.GPVirtual) *mask {
	m := &mask{}
	if a.wide {
		ones := a.GP32()
		a.MOVL(operand.U32(0xffffffff), ones)
		a.BZHIL(n.As32(), ones, ones)
		m.k = a.K()
		a.KMOVW(ones, m.k)
		return m
	}
	base, at := a.GP64(), a.GP64()
	a.LEAQ(a.masks, base)
	a.MOVQ(operand.U32(8), at)
	a.SUBQ(n, at)
	m.v = a.YMM()
	a.VMOVDQU(operand.Mem{Base: base, Index: at, Scale: 4}, m.v)
	return m
}

// load reads a register's worth of floats, with a mask only the existing ones, the others being 0.
func (a *asm) load(at operand.Mem, m *mask) reg.VecVirtual {
	v := a.register()
	switch {
	case m == nil:
		a.VMOVUPS(at, v)
	case a.wide:
		a.VMOVUPS_Z(at, m.k, v)
	default:
		a.VMASKMOVPS(at, m.v, v)
	}
	return v
}

// store writes a register, with a mask only the existing lanes.
func (a *asm) store(v reg.VecVirtual, at operand.Mem, m *mask) {
	switch {
	case m == nil:
		a.VMOVUPS(v, at)
	case a.wide:
		a.VMOVUPS(v, m.k, at)
	default:
		a.VMASKMOVPS(v, m.v, at)
	}
}

func (a *asm) xor(v reg.VecVirtual) {
	if a.wide {
		a.VPXORD(v, v, v)
	} else {
		a.VXORPS(v, v, v)
	}
}

func (a *asm) or(x, into reg.VecVirtual) {
	if a.wide {
		a.VPORD(x, into, into)
	} else {
		a.VORPS(x, into, into)
	}
}

// isZero is 1 when no bit of v is set, else 0.
func (a *asm) isZero(v reg.VecVirtual) reg.Register {
	ok := a.GP8()
	if a.wide {
		k := a.K()
		a.VPTESTMD(v, v, k)
		a.KORTESTW(k, k)
	} else {
		a.VPTEST(v, v)
	}
	a.SETEQ(ok)
	return ok
}
