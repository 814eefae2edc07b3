package gemm

//go:generate go -C _asm run . -dir ..

import (
	"unsafe"

	"millrace.dev/internal/cpu"
)

// tile is the argument of a register-tile kernel: nt tiles, one after another, of
//
//	C[m,n] = epilogue((load ? C[m,n] : 0) + Σ_j Σ_k A(j,k,m)·B(j,k,n))
//
// Strides are in bytes. aj and bj are what is added to an operand's address after the last k to reach the next j.
// at, bt, ct and biasTiles lead from tile to tile; ct also leads res and mask, which have C's layout. The line at
// next, which steps with k, is requested for later. The offsets of the fields are known to _asm.
type tile struct {
	a, b, c               unsafe.Pointer
	bias, res, mask       unsafe.Pointer // nil if absent
	am, ak, aj            int
	bk, bj, cm            int
	nk, nj, nt            int
	at, bt, ct, biasTiles int
	flags                 int
	lanes                 int // lanes of the last vector of a row, 1 to the vector's length
	next                  uintptr
	nextK, nextT          int // from k to k and from tile to tile
}

const (
	flagLoad = 1 << iota
	flagReLU
)

// family describes the kernels of one level.
type family struct {
	lanes int // floats in a vector
	// rows[nv] is the largest number of rows of a tile with nv vectors across; 0 if there is none.
	rows [9]int
	// lane is rows for kernels whose A is a vector along the columns.
	lane [3]int
}

var families = [...]family{
	cpu.Generic: {lanes: genericWidth, rows: [9]int{1: 8, 2: 8, 4: 8, 8: 8}, lane: [3]int{1: 8, 2: 8}},
	cpu.AVX2:    {lanes: 8, rows: [9]int{1: 12, 2: 6, 3: 3, 4: 2, 8: 1}, lane: [3]int{1: 8, 2: 4}},
	cpu.AVX512:  {lanes: 16, rows: [9]int{1: 16, 2: 14, 3: 9, 4: 6, 8: 3}, lane: [3]int{1: 8, 2: 4}},
}

// runTile calls the kernel of a level. The calls are direct so that t stays on the caller's stack.
func runTile(level cpu.Level, id int, t *tile) {
	switch level {
	case cpu.AVX512:
		avx512Tile(id, t)
	case cpu.AVX2:
		avx2Tile(id, t)
	default:
		genericTile(id, t)
	}
}

// laneID is set in a tile's number for kernels whose A is a vector along the columns.
const laneID = 32

// tileID is the number of the kernel with mr rows and nv vectors across.
func tileID(mr, nv int) int { return nv*64 + mr }
