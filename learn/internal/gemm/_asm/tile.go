package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of gemm.tile.
const (
	offA, offB, offC            = 0, 8, 16
	offBias, offRes, offMask    = 24, 32, 40
	offAM, offAK, offAJ         = 48, 56, 64
	offBK, offBJ, offCM         = 72, 80, 88
	offNK, offNJ, offNT         = 96, 104, 112
	offAT, offBT, offCT, offBiT = 120, 128, 136, 144
	offFlags, offLanes          = 152, 160
	offNext, offNextK, offNextT = 168, 176, 184

	flagLoad, flagReLU = 1, 2
)

// Registers of a tile kernel.
var (
	args   = reg.RDI
	rowsA  = [2]reg.GPPhysical{reg.R8, reg.R9} // A at rows 0 and 8
	am     = reg.R10
	am3    = reg.R11
	am5    = reg.R12
	am7    = reg.R13
	ak     = reg.RSI
	b      = reg.RBX
	bk     = reg.RDX
	count  = reg.RCX
	countJ = reg.RAX
	cm     = reg.R14 // outside of the sums
	c      = reg.R15 // outside of the sums
	next   = reg.R14 // within the sums
	nextK  = reg.R15 // within the sums
)

// tile emits one kernel: mr rows by nv vectors of C.
type tile struct {
	*build.Context
	isa    *isa
	mr, nv int
	vector bool
	whole  bool // in the code for a whole last vector

	// Locals on the stack.
	saved, flush          Mem // MXCSR before and during the call
	atA, atB, atC, atBias Mem // where the tile starts
	atRes, atMask, atNext Mem
	left                  Mem // tiles to go
}

func (t *tile) name() string {
	kind := "tile"
	if t.vector {
		kind = "lane"
	}
	return fmt.Sprintf("%s%s%dx%d", t.isa.name, kind, t.mr, t.nv)
}

// id is the number by which package gemm selects the kernel.
func (t *tile) id() int {
	id := t.nv*64 + t.mr
	if t.vector {
		id += 32
	}
	return id
}

func field(off int) Mem { return Mem{Base: args, Disp: off} }

// acc is the accumulator of row m, vector v.
func (t *tile) acc(m, v int) reg.VecPhysical { return t.isa.vec(m*t.nv + v) }

// spare returns register i of those that hold no accumulator and no lane mask.
func (t *tile) spare(i int) reg.VecPhysical {
	if !t.isa.wide && t.mr*t.nv+i >= 15 {
		panic(t.name() + ": out of registers")
	}
	return t.isa.vec(t.mr*t.nv + i)
}

// spares is the number of registers that spare can return.
func (t *tile) spares() int {
	n := t.isa.registers() - t.mr*t.nv
	if !t.isa.wide {
		n--
	}
	return n
}

func (t *tile) lanes() reg.VecPhysical { return t.isa.vec(15) } // AVX2 lane mask of the last vector

func (t *tile) emit() {
	t.Function(t.name())
	t.Attributes(attr.NOSPLIT)
	t.SignatureExpr("func(t uintptr)")
	t.Load(t.Param("t"), args)
	t.prologue()
	t.Label("tiles")
	t.start()
	t.sum()
	t.epilogue()
	t.store()
	t.next()
	t.LDMXCSR(t.saved)
	t.VZEROUPPER()
	t.RET()
}

// prologue makes subnormals count as zero, selects the lanes of the last vector and copies what changes from
// tile to tile to the stack.
func (t *tile) prologue() {
	locals := []*Mem{&t.atA, &t.atB, &t.atC, &t.atBias, &t.atRes, &t.atMask, &t.left, &t.atNext}
	for _, l := range locals {
		*l = t.AllocLocal(8)
	}
	t.saved, t.flush = t.AllocLocal(4), t.AllocLocal(4)

	flushSubnormals(t.Context, t.saved, t.flush)
	for i, off := range []int{offA, offB, offC, offBias, offRes, offMask, offNT, offNext} {
		t.MOVQ(field(off), reg.RAX)
		t.MOVQ(reg.RAX, *locals[i])
	}
	t.MOVQ(field(offLanes), reg.RCX)
	if t.isa.wide { // K1 = 1<<lanes − 1
		t.MOVL(U32(1), reg.EAX)
		t.SHLL(reg.CL, reg.EAX)
		t.DECL(reg.EAX)
		t.KMOVW(reg.EAX, reg.K1)
	} else {
		t.MOVL(U32(8), reg.EAX)
		t.SUBL(reg.ECX, reg.EAX)
		t.LEAQ(Mem{Symbol: Symbol{Name: laneMasks, Static: true}, Base: reg.StaticBase}, reg.RCX)
		t.VMOVUPS(Mem{Base: reg.RCX, Index: reg.RAX, Scale: 4}, t.lanes())
	}
	t.MOVQ(field(offAM), am)
	if t.mr > 3 {
		t.LEAQ(Mem{Base: am, Index: am, Scale: 2}, am3)
	}
	if t.mr > 5 {
		t.LEAQ(Mem{Base: am, Index: am, Scale: 4}, am5)
	}
	if t.mr > 7 {
		t.LEAQ(Mem{Base: am3, Index: am, Scale: 4}, am7)
	}
	t.MOVQ(field(offAK), ak)
	t.MOVQ(field(offBK), bk)
}

// rowA addresses A at row m of the tile, vector v (which only a vector operand has).
func (t *tile) rowA(m, v int) Mem {
	at := Mem{Base: rowsA[m/8], Disp: v * t.isa.bytes()}
	switch m % 8 {
	case 0:
		return at
	case 1, 2, 4:
		return at.Idx(am, uint8(m%8))
	case 3:
		return at.Idx(am3, 1)
	case 5:
		return at.Idx(am5, 1)
	case 6:
		return at.Idx(am3, 2)
	}
	return at.Idx(am7, 1)
}

// start points at the tile and sets the accumulators to zero or to C.
func (t *tile) start() {
	t.MOVQ(t.atA, rowsA[0])
	if t.mr > 8 {
		t.LEAQ(Mem{Base: rowsA[0], Index: am, Scale: 8}, rowsA[1])
	}
	t.MOVQ(t.atB, b)
	t.TESTB(U8(flagLoad), field(offFlags))
	t.JNE(LabelRef("load"))
	for m := range t.mr {
		for v := range t.nv {
			t.zero(t.acc(m, v))
		}
	}
	t.rows(t.atC, func(_, v int, _ Mem) {
		if disp := v * t.isa.bytes(); disp%64 == 0 {
			t.own(disp)
		}
	})
	t.JMP(LabelRef("sum"))
	t.Label("load")
	t.rows(t.atC, func(m, v int, at Mem) { t.load(at, v, t.acc(m, v)) })
	t.Label("sum")
}

// own asks for a line of C, in the register c, that is about to be written: another CPU may have it. Go's assembler does not
// know the instruction, PREFETCHW.
func (t *tile) own(disp int) {
	if c != reg.R15 {
		panic("PREFETCHW is encoded for R15")
	}
	for _, word := range []uint32{0x8f0d0f41, uint32(disp)} {
		t.Instruction(&ir.Instruction{Opcode: "LONG", Operands: []Op{U32(word)}})
	}
}

// rows visits the vectors of the tile in a matrix of C's layout whose tile starts at the address in start.
func (t *tile) rows(start Mem, visit func(m, v int, at Mem)) {
	t.MOVQ(start, c)
	t.MOVQ(field(offCM), cm)
	for m := range t.mr {
		for v := range t.nv {
			visit(m, v, Mem{Base: c, Disp: v * t.isa.bytes()})
		}
		if m < t.mr-1 {
			t.ADDQ(cm, c)
		}
	}
}

// sum adds A·B over j and k. A masked load costs AVX2 a tenth of its speed, so a whole last vector has its own loop.
func (t *tile) sum() {
	t.MOVQ(field(offNJ), countJ)
	t.TESTQ(countJ, countJ)
	t.JE(LabelRef("summed"))
	t.MOVQ(t.atNext, next)
	t.MOVQ(field(offNextK), nextK)
	if !t.isa.wide {
		t.CMPQ(field(offLanes), U8(8))
		t.JNE(LabelRef("j"))
		t.whole = true
		t.loops("jWhole", "kWhole")
		t.whole = false
		t.JMP(LabelRef("summed"))
	}
	t.loops("j", "k")
	t.Label("summed")
}

// loops emits the loops over j and k with the given labels.
func (t *tile) loops(j, k string) {
	t.Label(j)
	t.MOVQ(field(offNK), count)
	t.Label(k)
	t.PREFETCHT1(Mem{Base: next})
	t.ADDQ(nextK, next)
	switch {
	case t.vector:
		t.stepVector()
	case t.isa.wide && t.nv == 1:
		t.stepEmbedded()
	case t.mr == 1:
		t.stepRow()
	case t.nv+1 <= t.spares():
		t.stepBroadcast()
	default:
		t.stepColumns()
	}
	t.ADDQ(ak, rowsA[0])
	if t.mr > 8 {
		t.ADDQ(ak, rowsA[1])
	}
	t.ADDQ(bk, b)
	t.DECQ(count)
	t.JNE(LabelRef(k))
	t.ADDQ(field(offAJ), rowsA[0])
	if t.mr > 8 {
		t.ADDQ(field(offAJ), rowsA[1])
	}
	t.ADDQ(field(offBJ), b)
	t.DECQ(countJ)
	t.JNE(LabelRef(j))
}

func (t *tile) rowB(v int) Mem { return Mem{Base: b, Disp: v * t.isa.bytes()} }

// stepBroadcast holds the vectors of B in registers and broadcasts one element of A after another.
func (t *tile) stepBroadcast() {
	for v := range t.nv {
		t.load(t.rowB(v), v, t.spare(v))
	}
	temps := min(2, t.spares()-t.nv)
	for m := range t.mr {
		x := t.spare(t.nv + m%temps)
		t.VBROADCASTSS(t.rowA(m, 0), x)
		for v := range t.nv {
			t.VFMADD231PS(t.spare(v), x, t.acc(m, v))
		}
	}
}

// stepEmbedded is stepBroadcast for one vector of B, with the broadcast inside the multiply-add.
func (t *tile) stepEmbedded() {
	t.load(t.rowB(0), 0, t.spare(0))
	for m := range t.mr {
		t.VFMADD231PS_BCST(t.rowA(m, 0), t.spare(0), t.acc(m, 0))
	}
}

// stepColumns holds the elements of A in registers and loads one vector of B after another.
func (t *tile) stepColumns() {
	for m := range t.mr {
		t.VBROADCASTSS(t.rowA(m, 0), t.spare(m))
	}
	temps := min(2, t.spares()-t.mr)
	for v := range t.nv {
		y := t.spare(t.mr + v%temps)
		t.load(t.rowB(v), v, y)
		for m := range t.mr {
			t.VFMADD231PS(y, t.spare(m), t.acc(m, v))
		}
	}
}

// stepRow is stepColumns for one row, with the load inside the multiply-add.
func (t *tile) stepRow() {
	x := t.spare(0)
	t.VBROADCASTSS(t.rowA(0, 0), x)
	for v := range t.nv {
		t.fma(t.rowB(v), v, x, t.spare(1), t.acc(0, v))
	}
}

// stepVector multiplies lane by lane: A has a vector where the other steps have one element.
func (t *tile) stepVector() {
	for v := range t.nv {
		t.load(t.rowB(v), v, t.spare(v))
	}
	for m := range t.mr {
		for v := range t.nv {
			t.fma(t.rowA(m, v), v, t.spare(v), t.spare(t.nv), t.acc(m, v))
		}
	}
}

// epilogue applies bias, residual, ReLU and mask to the accumulators.
func (t *tile) epilogue() {
	x, z := t.spare(0), t.spare(1)
	t.ifField(offBias, "bias", func() {
		t.MOVQ(t.atBias, c)
		for v := range t.nv {
			t.load(Mem{Base: c, Disp: v * t.isa.bytes()}, v, x)
			for m := range t.mr {
				t.VADDPS(x, t.acc(m, v), t.acc(m, v))
			}
		}
	})
	t.ifField(offRes, "residual", func() {
		t.rows(t.atRes, func(m, v int, at Mem) {
			if !t.last(v) {
				t.VADDPS(at, t.acc(m, v), t.acc(m, v))
				return
			}
			t.load(at, v, x)
			t.VADDPS(x, t.acc(m, v), t.acc(m, v))
		})
	})
	t.TESTB(U8(flagReLU), field(offFlags))
	t.JE(LabelRef("noReLU"))
	t.zero(z)
	for m := range t.mr {
		for v := range t.nv {
			// The second source is returned when either is NaN.
			t.VMAXPS(t.acc(m, v), z, t.acc(m, v))
		}
	}
	t.Label("noReLU")
	t.ifField(offMask, "mask", func() {
		t.zero(z)
		t.rows(t.atMask, func(m, v int, at Mem) {
			t.load(at, v, x)
			const greater = 0x1e
			if t.isa.wide {
				t.VCMPPS(U8(greater), z, x, reg.K2)
				t.VMOVAPS_Z(t.acc(m, v), reg.K2, t.acc(m, v))
				return
			}
			t.VCMPPS(U8(greater), z, x, x)
			t.VANDPS(x, t.acc(m, v), t.acc(m, v))
		})
	})
}

// ifField emits body guarded by a pointer field that is not nil.
func (t *tile) ifField(off int, name string, body func()) {
	t.CMPQ(field(off), U8(0))
	t.JE(LabelRef(name))
	body()
	t.Label(name)
}

// store writes the accumulators to C. AVX2's masked store is slow on some processors: only a partial vector has one.
func (t *tile) store() {
	if !t.isa.wide {
		t.CMPQ(field(offLanes), U8(8))
		t.JNE(LabelRef("partial"))
		t.rows(t.atC, func(m, v int, at Mem) { t.VMOVUPS(t.acc(m, v), at) })
		t.JMP(LabelRef("stored"))
		t.Label("partial")
	}
	t.rows(t.atC, func(m, v int, at Mem) {
		switch {
		case !t.last(v):
			t.VMOVUPS(t.acc(m, v), at)
		case t.isa.wide:
			t.VMOVUPS(t.acc(m, v), reg.K1, at)
		default:
			t.VMASKMOVPS(t.acc(m, v), t.lanes(), at)
		}
	})
	if !t.isa.wide {
		t.Label("stored")
	}
}

// next goes to the following tile.
func (t *tile) next() {
	advance := func(off int, locals ...Mem) {
		t.MOVQ(field(off), reg.RAX)
		for _, l := range locals {
			t.ADDQ(reg.RAX, l)
		}
	}
	advance(offAT, t.atA)
	advance(offBT, t.atB)
	advance(offNextT, t.atNext)
	advance(offBiT, t.atBias)
	advance(offCT, t.atC, t.atRes, t.atMask)
	t.DECQ(t.left)
	t.JNE(LabelRef("tiles"))
}

// last reports whether vector v may be partial.
func (t *tile) last(v int) bool { return v == t.nv-1 && !t.whole }

// load reads vector v of a row; lanes past the end become zero and are not touched in memory.
func (t *tile) load(at Mem, v int, to reg.VecPhysical) {
	switch {
	case !t.last(v):
		t.VMOVUPS(at, to)
	case t.isa.wide:
		t.VMOVUPS_Z(at, reg.K1, to)
	default:
		t.VMASKMOVPS(at, t.lanes(), to)
	}
}

// fma adds x times vector v of a row in memory to acc.
func (t *tile) fma(at Mem, v int, x, temp, acc reg.VecPhysical) {
	switch {
	case !t.last(v):
		t.VFMADD231PS(at, x, acc)
	case t.isa.wide:
		t.VFMADD231PS(at, x, reg.K1, acc)
	default:
		t.VMASKMOVPS(at, t.lanes(), temp)
		t.VFMADD231PS(temp, x, acc)
	}
}

func (t *tile) zero(v reg.VecPhysical) {
	if t.isa.wide {
		t.VPXORD(v, v, v)
	} else {
		t.VXORPS(v, v, v)
	}
}
