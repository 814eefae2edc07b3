package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// asm emits instructions on vectors of 16 logical lanes for one instruction set: one 512-bit
// register when wide, else a pair of 256-bit registers.
type asm struct {
	*build.Context
	wide    bool
	consts  map[uint32]operand.Mem
	masks   operand.Mem       // AVX2: 16 dwords of ones, then 16 of zeros
	odd     reg.OpmaskVirtual // AVX-512: the odd lanes, where a kernel sets it
	numbers *operand.Mem      // 0, 1, … 15
	unfused bool              // multiply and add are rounded apart, as plain Go does
	single  bool              // AVX2: a vec is one register, of 8 lanes, for now
	saved   operand.Mem
	labels  int
	fn      string // of the function being emitted
}

// vec is a vector of 16 lanes of 32 bits.
type vec [2]reg.VecVirtual

// src is a vec or a constant's address.
type src any

func newAsm(wide bool) *asm {
	a := &asm{Context: build.NewContext(), wide: wide, consts: map[uint32]operand.Mem{}}
	a.ConstraintExpr("amd64")
	if !wide {
		a.masks = a.StaticGlobal("masks")
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 32 {
			v := uint32(0)
			if i < 16 {
				v = ^v
			}
			a.AddDatum(4*i, operand.U32(v))
		}
	}
	return a
}

// suffix ends the names of this instruction set's functions.
func (a *asm) suffix() string {
	if a.wide {
		return "AVX512"
	}
	return "AVX2"
}

// halves is the number of registers of a vec.
func (a *asm) halves() int {
	if a.wide || a.single {
		return 1
	}
	return 2
}

func (a *asm) register() reg.VecVirtual {
	if a.wide {
		return a.ZMM()
	}
	return a.YMM()
}

func (a *asm) vec() (v vec) {
	for h := range a.halves() {
		v[h] = a.register()
	}
	return v
}

// label makes a name that is unique in the function.
func (a *asm) label(what string) string {
	a.labels++
	return fmt.Sprintf("%s%d", what, a.labels)
}

// constant is a float32 in eight lanes of read-only memory.
func (a *asm) constant(f float64) operand.Mem { return a.constBits(math.Float32bits(float32(f))) }

func (a *asm) constBits(b uint32) operand.Mem {
	if m, ok := a.consts[b]; ok {
		return m
	}
	m := a.StaticGlobal(fmt.Sprintf("c%08x", b))
	a.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		a.AddDatum(4*i, operand.U32(b))
	}
	a.consts[b] = m
	return m
}

// begin opens a function and flushes denormals from here to end.
func (a *asm) begin(name, signature string) {
	a.Function(name + a.suffix())
	a.Attributes(attr.NOSPLIT)
	a.SignatureExpr(signature)
	a.Pragma("noescape")
	a.labels, a.fn = 0, name
	a.saved = a.AllocLocal(8)
	mode := a.GP32()
	a.VSTMXCSR(a.saved)
	a.MOVL(a.saved, mode)
	a.ORL(operand.U32(0x8040), mode) // flush to zero, denormals are zero
	a.MOVL(mode, a.saved.Offset(4))
	a.VLDMXCSR(a.saved.Offset(4))
}

func (a *asm) end() {
	a.VLDMXCSR(a.saved)
	a.VZEROUPPER()
	a.RET()
}

// pointer loads the address of a slice parameter's first element.
func (a *asm) pointer(name string) reg.GPVirtual {
	return a.Load(a.Param(name).Base(), a.GP64()).(reg.GPVirtual)
}

// length loads the length of a slice parameter.
func (a *asm) length(name string) reg.GPVirtual {
	return a.Load(a.Param(name).Len(), a.GP64()).(reg.GPVirtual)
}

// integer loads an int parameter.
func (a *asm) integer(name string) reg.GPVirtual {
	return a.Load(a.Param(name), a.GP64()).(reg.GPVirtual)
}

// scalar broadcasts a 32-bit parameter.
func (a *asm) scalar(name string) vec {
	b, err := a.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.broadcast(b.Addr)
}

// broadcast fills all lanes with 32 bits of memory. On AVX2 both halves are one register.
func (a *asm) broadcast(m operand.Mem) (v vec) {
	v[0] = a.register()
	a.VBROADCASTSS(m, v[0])
	v[1] = v[0]
	return v
}

// mask says which lanes of a tail exist: an opmask, or a vector of dwords.
type mask struct {
	k reg.OpmaskVirtual
	v vec
}

// tailMask makes the mask of the first n < 16 lanes.
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
	a.MOVQ(operand.U32(16), at)
	a.SUBQ(n, at)
	m.v = a.vec()
	for h := range 2 {
		a.VMOVDQU(operand.Mem{Base: base, Index: at, Scale: 4, Disp: 32 * h}, m.v[h])
	}
	return m
}

// load reads 16 floats, with a mask only the existing ones, the others being 0.
func (a *asm) load(at operand.Mem, m *mask) vec {
	v := a.vec()
	for h := range a.halves() {
		p := at.Offset(32 * h)
		switch {
		case m == nil:
			a.VMOVUPS(p, v[h])
		case a.wide:
			a.VMOVUPS_Z(p, m.k, v[h])
		default:
			a.VMASKMOVPS(p, m.v[h], v[h])
		}
	}
	return v
}

// store writes 16 floats, with a mask only the existing ones.
func (a *asm) store(v vec, at operand.Mem, m *mask) {
	for h := range a.halves() {
		p := at.Offset(32 * h)
		switch {
		case m == nil:
			a.VMOVUPS(v[h], p)
		case a.wide:
			a.VMOVUPS(v[h], m.k, p)
		default:
			a.VMASKMOVPS(v[h], m.v[h], p)
		}
	}
}

// copyOf is v in registers of its own.
func (a *asm) copyOf(v src) vec {
	d := a.vec()
	for h := range a.halves() {
		if c, ok := v.(operand.Mem); ok {
			a.VBROADCASTSS(c, d[h])
		} else {
			a.VMOVAPS(v.(vec)[h], d[h])
		}
	}
	return d
}

// zero is +0 in all lanes.
func (a *asm) zero() vec {
	v := a.vec()
	for h := range a.halves() {
		a.VXORPS(v[h], v[h], v[h])
	}
	return v
}
