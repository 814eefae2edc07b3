package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// emitTranspose emits the transposition of a matrix of whole 8×8 blocks, each in eight registers by
// three rounds of exchanges; Go does the edges. AVX-512 uses the same code: wider exchanges cost more.
func emitTranspose(a *asm, names *registry) {
	if a.Wide {
		return
	}
	a.begin("transpose", "func(dst, x []float32, rows, cols, dstStride, xStride int)")
	dst, x := a.Pointer("dst"), a.Pointer("x")
	rows, cols := a.integer("rows"), a.integer("cols")
	dstStep, xStep := a.bytesOf("dstStride"), a.bytesOf("xStride")
	done := a.NewLabel("done")
	a.CMPQ(rows, operand.U32(8))
	a.JB(operand.LabelRef(done))
	a.CMPQ(cols, operand.U32(8))
	a.JB(operand.LabelRef(done))
	band, block := a.NewLabel("band"), a.NewLabel("block")
	a.Label(band) // 8 columns of x, 8 rows of dst
	from, to, left := a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(x, from)
	a.MOVQ(dst, to)
	a.MOVQ(rows, left)
	a.Label(block)
	var r [8]reg.VecVirtual
	row := a.GP64()
	a.MOVQ(from, row)
	for i := range r {
		r[i] = a.YMM()
		a.VMOVUPS(operand.Mem{Base: row}, r[i])
		a.ADDQ(xStep, row)
	}
	r = a.transposed(r)
	a.MOVQ(to, row)
	for i := range r {
		a.VMOVUPS(r[i], operand.Mem{Base: row})
		a.ADDQ(dstStep, row)
	}
	a.LEAQ(operand.Mem{Base: from, Index: xStep, Scale: 8}, from)
	a.ADDQ(operand.U32(32), to)
	a.SUBQ(operand.U32(8), left)
	a.CMPQ(left, operand.U32(8))
	a.JAE(operand.LabelRef(block))
	a.ADDQ(operand.U32(32), x)
	a.LEAQ(operand.Mem{Base: dst, Index: dstStep, Scale: 8}, dst)
	a.SUBQ(operand.U32(8), cols)
	a.CMPQ(cols, operand.U32(8))
	a.JAE(operand.LabelRef(band))
	a.Label(done)
	a.end()
	names.addWhole("transpose", "transposeKernel", 2)
}

// transposed exchanges single numbers, pairs and fours between eight registers.
func (a *asm) transposed(r [8]reg.VecVirtual) (out [8]reg.VecVirtual) {
	var p, q [8]reg.VecVirtual
	for i := range out {
		p[i], q[i], out[i] = a.YMM(), a.YMM(), a.YMM()
	}
	for i := 0; i < 8; i += 2 {
		a.VUNPCKLPS(r[i+1], r[i], p[i])
		a.VUNPCKHPS(r[i+1], r[i], p[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			a.VSHUFPS(operand.U8(0x44), p[i+2+j], p[i+j], q[i+2*j])
			a.VSHUFPS(operand.U8(0xee), p[i+2+j], p[i+j], q[i+2*j+1])
		}
	}
	for i := range 4 {
		a.VPERM2F128(operand.U8(0x20), q[i+4], q[i], out[i])
		a.VPERM2F128(operand.U8(0x31), q[i+4], q[i], out[i+4])
	}
	return out
}
