package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of gemm.dots.
const (
	dotA, dotB, dotC    = 0, 8, 16
	dotAM, dotBN, dotCM = 24, 32, 40
	dotSteps, dotTail   = 48, 56
	dotNT, dotAT, dotBT = 64, 72, 80
	dotCT, dotFlags     = 88, 96
)

// dotLanes is the number of interleaved parts of a dot product, on every machine.
const dotLanes = 16

// dots emits a kernel of mr by nr dot products along contiguous rows of A and B.
type dots struct {
	*build.Context
	isa                 *isa
	mr, nr              int
	saved, flush        Mem
	atA, atB, atC, left Mem
}

func (d *dots) name() string { return fmt.Sprintf("%sDots%dx%d", d.isa.name, d.mr, d.nr) }

// parts is the number of registers that hold the lanes of one dot product.
func (d *dots) parts() int { return dotLanes * 4 / d.isa.bytes() }

func (d *dots) acc(m, n, part int) reg.VecPhysical {
	return d.isa.vec((m*d.nr+n)*d.parts() + part)
}

// id is the number by which package gemm selects the kernel.
func (d *dots) id() int { return d.nr*8 + d.mr }

// spare returns register i of those that hold no accumulator.
func (d *dots) spare(i int) reg.VecPhysical { return d.isa.vec(d.mr*d.nr*d.parts() + i) }

func (d *dots) rowA(m int) Mem { return strided(reg.R8, reg.R10, reg.R11, m) }
func (d *dots) rowB(n int) Mem { return strided(reg.R9, reg.R12, reg.R13, n) }

func (d *dots) emit() {
	d.Function(d.name())
	d.Attributes(attr.NOSPLIT)
	d.SignatureExpr("func(d uintptr)")
	d.Load(d.Param("d"), args)
	d.prologue()
	d.Label("tiles")
	d.MOVQ(d.atA, reg.R8)
	d.MOVQ(d.atB, reg.R9)
	for i := range d.mr * d.nr * d.parts() {
		if d.isa.wide {
			d.VPXORD(d.isa.vec(i), d.isa.vec(i), d.isa.vec(i))
		} else {
			d.VXORPS(d.isa.vec(i), d.isa.vec(i), d.isa.vec(i))
		}
	}
	d.sum()
	d.reduce()
	d.next()
	d.LDMXCSR(d.saved)
	d.VZEROUPPER()
	d.RET()
}

func (d *dots) prologue() {
	locals := []*Mem{&d.atA, &d.atB, &d.atC, &d.left}
	for _, l := range locals {
		*l = d.AllocLocal(8)
	}
	d.saved, d.flush = d.AllocLocal(4), d.AllocLocal(4)
	flushSubnormals(d.Context, d.saved, d.flush)
	for i, off := range []int{dotA, dotB, dotC, dotNT} {
		d.MOVQ(field(off), reg.RAX)
		d.MOVQ(reg.RAX, *locals[i])
	}
	d.MOVQ(field(dotAM), reg.R10)
	d.LEAQ(Mem{Base: reg.R10, Index: reg.R10, Scale: 2}, reg.R11)
	d.MOVQ(field(dotBN), reg.R12)
	d.LEAQ(Mem{Base: reg.R12, Index: reg.R12, Scale: 2}, reg.R13)
	d.MOVQ(field(dotCM), reg.R14)
	d.MOVQ(field(dotTail), reg.RCX)
	if d.isa.wide {
		d.MOVL(U32(1), reg.EAX)
		d.SHLL(reg.CL, reg.EAX)
		d.DECL(reg.EAX)
		d.KMOVW(reg.EAX, reg.K1)
	}
}

// sum adds the products of whole steps of dotLanes and of the rest, whose missing lanes are zero.
func (d *dots) sum() {
	d.MOVQ(field(dotSteps), reg.RCX)
	d.TESTQ(reg.RCX, reg.RCX)
	d.JE(LabelRef("rest"))
	d.Label("step")
	for part := range d.parts() {
		d.step(part, func(at Mem, to reg.VecPhysical) { d.VMOVUPS(at, to) })
	}
	d.ADDQ(U8(4*dotLanes), reg.R8)
	d.ADDQ(U8(4*dotLanes), reg.R9)
	d.DECQ(reg.RCX)
	d.JNE(LabelRef("step"))
	d.Label("rest")
	d.CMPQ(field(dotTail), U8(0))
	d.JE(LabelRef("reduce"))
	if d.isa.wide {
		d.step(0, func(at Mem, to reg.VecPhysical) { d.VMOVUPS_Z(at, reg.K1, to) })
	} else {
		mask := ymm[15]
		for part := range d.parts() {
			d.laneMask(part, mask)
			d.step(part, func(at Mem, to reg.VecPhysical) { d.VMASKMOVPS(at, mask, to) })
		}
	}
	d.Label("reduce")
}

// laneMask selects the lanes of the rest that fall into a part: tail − 8·part of them, between 0 and 8.
func (d *dots) laneMask(part int, mask reg.VecPhysical) {
	d.XORL(reg.EAX, reg.EAX)
	d.MOVL(U32(8*(part+1)), reg.ECX)
	d.SUBQ(field(dotTail), reg.RCX)
	d.CMOVQGE(reg.RCX, reg.RAX) // first lane of the table, not below 0
	d.MOVL(U32(8), reg.ECX)
	d.CMPQ(reg.RAX, reg.RCX)
	d.CMOVQGT(reg.RCX, reg.RAX) // nor above 8
	d.LEAQ(Mem{Symbol: Symbol{Name: laneMasks, Static: true}, Base: reg.StaticBase}, reg.RCX)
	d.VMOVUPS(Mem{Base: reg.RCX, Index: reg.RAX, Scale: 4}, mask)
}

// step adds the products of one part of a step.
func (d *dots) step(part int, load func(at Mem, to reg.VecPhysical)) {
	disp := part * d.isa.bytes()
	for m := range d.mr {
		load(d.rowA(m).Offset(disp), d.spare(m))
	}
	y := d.spare(d.mr)
	for n := range d.nr {
		load(d.rowB(n).Offset(disp), y)
		for m := range d.mr {
			d.VFMADD231PS(y, d.spare(m), d.acc(m, n, part))
		}
	}
}

// reduce adds lanes i and i+8, then i and i+4, then neighbours twice, and stores the sums, added to C if asked.
func (d *dots) reduce() {
	for i := range d.mr * d.nr {
		d.quarter(i * d.parts())
	}
	for m := range d.mr {
		x := func(n int) reg.VecPhysical { return xmm[(m*d.nr+n)*d.parts()] }
		switch d.nr {
		case 1:
			d.VHADDPS(x(0), x(0), x(0))
			d.VHADDPS(x(0), x(0), x(0))
		case 2:
			d.VHADDPS(x(1), x(0), x(0))
			d.VHADDPS(x(0), x(0), x(0))
		case 4:
			d.VHADDPS(x(1), x(0), x(0))
			d.VHADDPS(x(3), x(2), x(2))
			d.VHADDPS(x(2), x(0), x(0))
		}
	}
	d.TESTB(U8(flagLoad), field(dotFlags))
	d.JE(LabelRef("store"))
	d.sums(func(x reg.VecPhysical, at Mem) {
		y := xmm[1] // a sum that has gone into its row
		switch d.nr {
		case 1:
			d.VADDSS(at, x, x)
		case 2:
			d.VMOVSD(at, y)
			d.VADDPS(y, x, x)
		case 4:
			d.VADDPS(at, x, x)
		}
	})
	d.Label("store")
	d.sums(func(x reg.VecPhysical, at Mem) {
		switch d.nr {
		case 1:
			d.VMOVSS(x, at)
		case 2:
			d.VMOVSD(x, at)
		case 4:
			d.VMOVUPS(x, at)
		}
	})
}

// quarter folds the sixteen lanes of the dot product whose registers start at i into the four lowest.
func (d *dots) quarter(i int) {
	if d.isa.wide {
		d.VEXTRACTF64X4(U8(1), zmm[i], reg.Y16)
		d.VADDPS(reg.Y16, ymm[i], ymm[i])
		d.VEXTRACTF32X4(U8(1), ymm[i], reg.X16)
		d.VADDPS(reg.X16, xmm[i], xmm[i])
		return
	}
	d.VADDPS(ymm[i+1], ymm[i], ymm[i])
	d.VEXTRACTF128(U8(1), ymm[i], xmm[i+1])
	d.VADDPS(xmm[i+1], xmm[i], xmm[i])
}

// sums visits the rows of results.
func (d *dots) sums(visit func(x reg.VecPhysical, at Mem)) {
	d.MOVQ(d.atC, reg.R15)
	for m := range d.mr {
		visit(xmm[m*d.nr*d.parts()], Mem{Base: reg.R15})
		if m < d.mr-1 {
			d.ADDQ(reg.R14, reg.R15)
		}
	}
}

// next goes to the following tile.
func (d *dots) next() {
	for _, x := range []struct {
		off   int
		local Mem
	}{{dotAT, d.atA}, {dotBT, d.atB}, {dotCT, d.atC}} {
		d.MOVQ(field(x.off), reg.RAX)
		d.ADDQ(reg.RAX, x.local)
	}
	d.DECQ(d.left)
	d.JNE(LabelRef("tiles"))
}
