package avx

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Lanes is the number of 32-bit lanes of a Vec.
const Lanes = 16

// Asm emits instructions on vectors of 16 lanes of 32 bits for one instruction set.
type Asm struct {
	*build.Context
	Wide   bool        // AVX-512: a Vec is one 512-bit register, else a pair of 256-bit registers
	Single bool        // AVX2: a Vec is one register, of 8 lanes, for now
	masks  operand.Mem // AVX2: 16 dwords of ones, then 16 of zeros
	labels int
}

// Vec is a vector of 16 lanes of 32 bits.
type Vec [2]reg.VecVirtual

// Mask says which lanes exist: an opmask, or a vector of dwords.
type Mask struct {
	K reg.OpmaskVirtual
	V Vec
}

// New begins a file of assembly.
func New(wide bool) *Asm {
	a := &Asm{Context: NewContext(), Wide: wide}
	if !wide {
		a.masks = TailMasks(a.Context, "masks", Lanes)
	}
	return a
}

// NewContext begins a file of assembly for amd64.
func NewContext() *build.Context {
	ctx := build.NewContext()
	ctx.ConstraintExpr("amd64")
	return ctx
}

// TailMasks emits a table of dwords, so many of ones and then as many of zeros: what is loaded at 4·(lanes-n) masks
// the first n lanes.
func TailMasks(ctx *build.Context, name string, lanes int) operand.Mem {
	table := ctx.StaticGlobal(name)
	ctx.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 2 * lanes {
		v := uint32(0)
		if i < lanes {
			v = ^v
		}
		ctx.AddDatum(4*i, operand.U32(v))
	}
	return table
}

// Begin opens a function, whose name gets the instruction set's suffix.
func (a *Asm) Begin(name, signature string) {
	a.Function(name + a.Suffix())
	a.Attributes(attr.NOSPLIT)
	a.SignatureExpr(signature)
	a.Pragma("noescape")
	a.labels = 0
}

// Suffix ends the names of this instruction set's functions.
func (a *Asm) Suffix() string {
	if a.Wide {
		return "AVX512"
	}
	return "AVX2"
}

// NewLabel makes a name that is unique in the function.
func (a *Asm) NewLabel(what string) string {
	a.labels++
	return fmt.Sprintf("%s%d", what, a.labels)
}

// Halves is the number of registers of a Vec.
func (a *Asm) Halves() int {
	if a.Wide || a.Single {
		return 1
	}
	return 2
}

// Register is a new vector register.
func (a *Asm) Register() reg.VecVirtual {
	if a.Wide {
		return a.ZMM()
	}
	return a.YMM()
}

// NewVec is a Vec in new registers.
func (a *Asm) NewVec() (v Vec) {
	for h := range a.Halves() {
		v[h] = a.Register()
	}
	return v
}

// Zero is +0 in all lanes.
func (a *Asm) Zero() Vec {
	v := a.NewVec()
	for h := range a.Halves() {
		a.VXORPS(v[h], v[h], v[h])
	}
	return v
}

// Pointer loads the address of a slice parameter's first element.
func (a *Asm) Pointer(name string) reg.GPVirtual {
	return a.Load(a.Param(name).Base(), a.GP64()).(reg.GPVirtual)
}

// Length loads the length of a slice parameter.
func (a *Asm) Length(name string) reg.GPVirtual {
	return a.Load(a.Param(name).Len(), a.GP64()).(reg.GPVirtual)
}

// Scalar broadcasts a 32-bit parameter.
func (a *Asm) Scalar(name string) Vec {
	b, err := a.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Broadcast(b.Addr)
}

// Broadcast fills all lanes with 32 bits of memory. On AVX2 both halves are one register.
func (a *Asm) Broadcast(m operand.Mem) (v Vec) {
	v[0] = a.Register()
	a.VBROADCASTSS(m, v[0])
	v[1] = v[0]
	return v
}

// TailMask makes the mask of the first n < 16 lanes.
func (a *Asm) TailMask(n reg.GPVirtual) *Mask {
	m := &Mask{}
	if a.Wide {
		ones := a.GP32()
		a.MOVL(operand.U32(0xffffffff), ones)
		a.BZHIL(n.As32(), ones, ones)
		m.K = a.K()
		a.KMOVW(ones, m.K)
		return m
	}
	base, at := a.GP64(), a.GP64()
	a.LEAQ(a.masks, base)
	a.MOVQ(operand.U32(Lanes), at)
	a.SUBQ(n, at)
	m.V = a.NewVec()
	for h := range 2 {
		a.VMOVDQU(operand.Mem{Base: base, Index: at, Scale: 4, Disp: 32 * h}, m.V[h])
	}
	return m
}

// LoadVec reads 16 floats, with a mask only the existing ones, the others being 0.
func (a *Asm) LoadVec(at operand.Mem, m *Mask) Vec {
	v := a.NewVec()
	for h := range a.Halves() {
		p := at.Offset(32 * h)
		switch {
		case m == nil:
			a.VMOVUPS(p, v[h])
		case a.Wide:
			a.VMOVUPS_Z(p, m.K, v[h])
		default:
			a.VMASKMOVPS(p, m.V[h], v[h])
		}
	}
	return v
}

// StoreVec writes 16 floats, with a mask only the existing ones.
func (a *Asm) StoreVec(v Vec, at operand.Mem, m *Mask) {
	for h := range a.Halves() {
		p := at.Offset(32 * h)
		switch {
		case m == nil:
			a.VMOVUPS(v[h], p)
		case a.Wide:
			a.VMOVUPS(v[h], m.K, p)
		default:
			a.VMASKMOVPS(v[h], m.V[h], p)
		}
	}
}

// OverRange emits loops over n elements from at on: unroll vectors at a time, single vectors, and
// a masked tail. step gets the offset in bytes of its vector. n and at are consumed.
func (a *Asm) OverRange(at, n reg.GPVirtual, unroll int, step func(disp int, m *Mask)) {
	for _, u := range []int{unroll, 1} {
		a.OverWhole(at, n, u, step)
		if u == 1 {
			break
		}
	}
	end := a.NewLabel("end")
	a.TESTQ(n, n)
	a.JZ(operand.LabelRef(end))
	step(0, a.TailMask(n))
	a.Label(end)
}

// OverWhole emits a loop over n elements from at on, unroll vectors at a time while there are so many.
func (a *Asm) OverWhole(at, n reg.GPVirtual, unroll int, step func(disp int, m *Mask)) {
	loop, done := a.NewLabel("loop"), a.NewLabel("done")
	size := operand.U32(Lanes * unroll)
	a.CMPQ(n, size)
	a.JB(operand.LabelRef(done))
	a.Label(loop)
	for i := range unroll {
		step(4*Lanes*i, nil)
	}
	a.ADDQ(size, at)
	a.SUBQ(size, n)
	a.CMPQ(n, size)
	a.JAE(operand.LabelRef(loop))
	a.Label(done)
}
