package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// peakSums is the number of independent sums of the peak kernel, enough to hide the latency on every processor.
const peakSums = 12

// emitPeak emits the loop of multiply-adds on registers alone by which others are judged.
func emitPeak(ctx *build.Context, s *isa) {
	ctx.Function(s.name + "Peak")
	ctx.Attributes(attr.NOSPLIT)
	ctx.SignatureExpr("func(rounds int)")
	n := reg.RCX
	ctx.Load(ctx.Param("rounds"), n)
	x := s.vec(peakSums)
	zero := func(v reg.VecPhysical) {
		if s.wide {
			ctx.VPXORD(v, v, v)
		} else {
			ctx.VXORPS(v, v, v)
		}
	}
	for i := range peakSums + 1 {
		zero(s.vec(i))
	}
	ctx.Label("round")
	for i := range peakSums {
		ctx.VFMADD231PS(x, x, s.vec(i))
	}
	ctx.DECQ(n)
	ctx.JNE(operand.LabelRef("round"))
	ctx.VZEROUPPER()
	ctx.RET()
}
