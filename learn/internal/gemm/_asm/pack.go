package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is how many rows before their use packed rows are prefetched.
const ahead = 24

// emitPackRows emits func packRows32(dst, src *float32, rows, stride int): it copies rows of 32 floats, stride bytes
// apart, one after another. Lines are requested early, as strided rows escape the hardware's prefetcher. With stream,
// func streamRows32 writes past the caches to a dst that is a multiple of 32.
func emitPackRows(ctx *build.Context, stream bool) {
	name, store := "packRows32", func(y, to Op) { ctx.VMOVUPS(y, to) }
	if stream {
		name, store = "streamRows32", ctx.VMOVNTPS
	}
	ctx.Function(name)
	ctx.Attributes(attr.NOSPLIT)
	ctx.SignatureExpr("func(dst, src *float32, rows, stride int)")
	dst, src, rows, stride, next := reg.RDI, reg.RSI, reg.RCX, reg.RDX, reg.RAX
	ctx.Load(ctx.Param("dst"), dst)
	ctx.Load(ctx.Param("src"), src)
	ctx.Load(ctx.Param("rows"), rows)
	ctx.Load(ctx.Param("stride"), stride)
	ctx.IMUL3Q(U32(ahead), stride, next)
	ctx.ADDQ(src, next)
	ctx.Label("row")
	ctx.PREFETCHT0(Mem{Base: next})
	ctx.PREFETCHT0(Mem{Base: next, Disp: 64})
	for i := range 4 {
		ctx.VMOVUPS(Mem{Base: src, Disp: 32 * i}, ymm[i])
	}
	for i := range 4 {
		store(ymm[i], Mem{Base: dst, Disp: 32 * i})
	}
	ctx.ADDQ(stride, src)
	ctx.ADDQ(stride, next)
	ctx.ADDQ(U32(128), dst)
	ctx.DECQ(rows)
	ctx.JNE(LabelRef("row"))
	if stream {
		ctx.SFENCE() // such stores are ordered by nothing else
	}
	ctx.VZEROUPPER()
	ctx.RET()
}

// emitTranspose emits func transpose8(dst, src *float32, columns, stride, pitch int): it writes the columns of eight
// rows, stride bytes apart, as rows of eight floats, pitch bytes apart.
func emitTranspose(ctx *build.Context) {
	ctx.Function("transpose8")
	ctx.Attributes(attr.NOSPLIT)
	ctx.SignatureExpr("func(dst, src *float32, columns, stride, pitch int)")
	t := &transpose{Context: ctx}
	ctx.Load(ctx.Param("dst"), t.dst())
	ctx.Load(ctx.Param("src"), t.src(0))
	ctx.Load(ctx.Param("columns"), reg.RCX)
	ctx.Load(ctx.Param("stride"), reg.RDX)
	ctx.Load(ctx.Param("pitch"), reg.RBX)
	ctx.LEAQ(Mem{Base: reg.RDX, Index: reg.RDX, Scale: 2}, reg.R9)
	ctx.LEAQ(Mem{Base: reg.RBX, Index: reg.RBX, Scale: 2}, reg.R10)
	ctx.LEAQ(Mem{Base: t.src(0), Index: reg.RDX, Scale: 4}, t.src(4))
	ctx.SUBQ(U8(8), reg.RCX)
	ctx.JLT(LabelRef("rest"))
	ctx.Label("block")
	t.half(0)
	t.half(4)
	ctx.ADDQ(U8(32), t.src(0))
	ctx.ADDQ(U8(32), t.src(4))
	ctx.SUBQ(U8(8), reg.RCX)
	ctx.JGE(LabelRef("block"))
	ctx.Label("rest")
	ctx.ADDQ(U8(8), reg.RCX)
	ctx.JE(LabelRef("done"))
	ctx.Label("column")
	for i := range 8 {
		ctx.MOVL(t.row(i, 0), reg.EAX)
		ctx.MOVL(reg.EAX, Mem{Base: t.dst(), Disp: 4 * i})
	}
	ctx.ADDQ(U8(4), t.src(0))
	ctx.ADDQ(U8(4), t.src(4))
	ctx.ADDQ(reg.RBX, t.dst())
	ctx.DECQ(reg.RCX)
	ctx.JNE(LabelRef("column"))
	ctx.Label("done")
	ctx.VZEROUPPER()
	ctx.RET()
}

type transpose struct{ *build.Context }

func (t *transpose) dst() reg.GPPhysical { return reg.RDI }

// src is the register that points at row i & 4.
func (t *transpose) src(i int) reg.GPPhysical {
	if i >= 4 {
		return reg.R8
	}
	return reg.RSI
}

// strided addresses row i & 3 after base.
func strided(base, by, by3 reg.Register, i int) Mem {
	switch i & 3 {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: by3, Scale: 1}
	}
	return Mem{Base: base, Index: by, Scale: uint8(i & 3)}
}

func (t *transpose) row(i, column int) Mem {
	return strided(t.src(i), reg.RDX, reg.R9, i).Offset(4 * column)
}

// half transposes four columns from column: rows 0-3 go through the low lanes, rows 4-7 through the high ones.
func (t *transpose) half(column int) {
	for i := range 4 {
		t.VMOVUPS(t.row(i, column), xmm[i])
		t.VINSERTF128(U8(1), t.row(i+4, column), ymm[i], ymm[i])
	}
	t.VUNPCKLPS(ymm[1], ymm[0], ymm[4])
	t.VUNPCKHPS(ymm[1], ymm[0], ymm[5])
	t.VUNPCKLPS(ymm[3], ymm[2], ymm[6])
	t.VUNPCKHPS(ymm[3], ymm[2], ymm[7])
	t.VSHUFPS(U8(0x44), ymm[6], ymm[4], ymm[8])
	t.VSHUFPS(U8(0xee), ymm[6], ymm[4], ymm[9])
	t.VSHUFPS(U8(0x44), ymm[7], ymm[5], ymm[10])
	t.VSHUFPS(U8(0xee), ymm[7], ymm[5], ymm[11])
	for i := range 4 {
		t.VMOVUPS(ymm[8+i], strided(t.dst(), reg.RBX, reg.R10, i))
	}
	t.LEAQ(Mem{Base: t.dst(), Index: reg.RBX, Scale: 4}, t.dst())
}
