package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"millrace.dev/internal/avx"
)

// kind is a family of tiles with the same number of vectors across.
type kind struct {
	vectors, rows int  // vectors across; most rows
	vector        bool // A is read as vectors along the columns (depthwise) instead of broadcast
}

// isa holds what the tile generator must know of an instruction set.
type isa struct {
	name  string
	wide  bool // 512-bit vectors with opmasks
	tiles []kind
	dots  [][2]int // rows and columns of tiles of dot products
}

// The tiles are those whose accumulators, B vectors and one broadcast fit the register file, with enough
// accumulators to hide the latency of a multiply-add: few rows need many vectors across.
var (
	avx512 = &isa{name: "avx512", wide: true, tiles: []kind{
		{1, 16, false}, {2, 14, false}, {3, 9, false}, {4, 6, false}, {8, 3, false}, {1, 8, true}, {2, 4, true}},
		dots: [][2]int{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {1, 4}, {2, 4}, {3, 4}, {4, 4}}}
	avx2 = &isa{name: "avx2", tiles: []kind{
		{1, 12, false}, {2, 6, false}, {3, 3, false}, {4, 2, false}, {8, 1, false}, {1, 8, true}, {2, 4, true}},
		dots: [][2]int{{1, 1}, {2, 1}, {1, 2}, {1, 4}, {2, 2}}}
)

// bytes is the size of a vector.
func (s *isa) bytes() int {
	if s.wide {
		return 64
	}
	return 32
}

// registers is the number of vector registers.
func (s *isa) registers() int {
	if s.wide {
		return 32
	}
	return 16
}

var (
	zmm = [...]reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12,
		reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24,
		reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}
	xmm = [...]reg.VecPhysical{
		reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7, reg.X8, reg.X9, reg.X10, reg.X11, reg.X12,
		reg.X13, reg.X14, reg.X15}
	ymm = [...]reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12,
		reg.Y13, reg.Y14, reg.Y15}
)

// vec returns vector register i.
func (s *isa) vec(i int) reg.VecPhysical {
	if i < 0 || i >= s.registers() {
		panic(fmt.Sprintf("%s has no vector register %d", s.name, i))
	}
	if s.wide {
		return zmm[i]
	}
	return ymm[i]
}

// tables emits the constants: for AVX2 the lane masks, of which a load at 4·(8−n) selects the first n lanes.
func (s *isa) tables(ctx *build.Context) {
	if !s.wide {
		avx.TailMasks(ctx, laneMasks, s.bytes()/4)
	}
}

const laneMasks = "laneMasks"

// flushSubnormals saves the control register and makes subnormal operands and results count as zero.
func flushSubnormals(ctx *build.Context, saved, flush operand.Mem) {
	ctx.STMXCSR(saved)
	ctx.MOVL(saved, reg.EAX)
	ctx.ORL(operand.U32(0x8040), reg.EAX)
	ctx.MOVL(reg.EAX, flush)
	ctx.LDMXCSR(flush)
}
