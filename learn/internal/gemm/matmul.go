package gemm

import (
	"fmt"
	"math"
)

const (
	// grain is the least number of multiply-adds worth a chunk of its own, about 30 µs at 100 GF/s.
	grain = 3 << 19
	// maxChunks is enough for eight threads to share a phase evenly.
	maxChunks = 16
	// rowGrain is a number of rows that the tallest tiles of all levels divide.
	rowGrain = 42
	// leastRows is the least number of rows worth a chunk: lower tiles load more than they multiply.
	leastRows = 8
	// hotOut is how many elements of the result of a chunk stay in the second-level cache for who uses them next.
	hotOut = 1 << 15
	// maxKC is the longest step along k: a tile's rows of A stay in the first-level cache, a packed B in the second.
	maxKC = 512
	// padBlock is the number of rows of A that are copied at a time, to the second-level cache.
	padBlock = 112
)

// matmul is C[m×n] = op(A)·op(B), cut into chunks of rows or of columns.
type matmul struct {
	m, n, k        int
	transA, transB bool
	byRows         bool
	step           int // rows or columns in a chunk
	pack           packing
	padA           bool // rows of A are copied, as they evict each other from the cache where they stand
	depth          int  // step along k
}

// packing is where the rows of B are brought together.
type packing int

const (
	packNone   packing = iota // B is read in place
	packWorker                // each chunk packs its own columns, depth rows at a time
	packShared                // a first phase packs all of B for all chunks
	packDots                  // B is read in place, transposed, by dot products
)

// NewMatMul plans C[m×n] = op(A)·op(B), where op(A) is m×k and op(B) is k×n. With transA the matrix A is stored as
// [k][m], with transB B is stored as [n][k]. With transA the chunks finish whole rows of C.
func NewMatMul(m, n, k int, transA, transB bool) (*Plan, error) {
	if reason := badMatMul(m, n, k); reason != "" {
		shape := fmt.Sprintf("[%d×%d]·[%d×%d]", m, k, k, n)
		return nil, &ShapeError{Op: "matmul", Shape: shape, Reason: reason}
	}
	return newMatMul(m, n, k, transA, transB).plan(), nil
}

func badMatMul(m, n, k int) string {
	if m < 1 || n < 1 || k < 0 {
		return "a dimension is not positive"
	}
	if tooLarge(m, k) || tooLarge(k, n) || tooLarge(m, n) {
		return "a matrix has more than 2³¹−1 elements"
	}
	return ""
}

// tooLarge reports whether the product of dimensions that are not negative exceeds what a tensor may hold.
func tooLarge(dims ...int) bool {
	n := 1
	for _, d := range dims {
		if d != 0 && n > math.MaxInt32/d {
			return true
		}
		n *= d
	}
	return false
}

func newMatMul(m, n, k int, transA, transB bool) *matmul {
	g := &matmul{m: m, n: n, k: k, transA: transA, transB: transB, byRows: transA || m >= n}
	g.pack = g.choosePacking()
	g.padA = !transA && m >= 28 && k > 64 && g.pack != packDots && aliases(k)
	g.depth = max(k, 1)
	if g.m >= 8 {
		g.depth = roundUp(ceil(max(k, 1), ceil(max(k, 1), maxKC)), 8)
	}
	chunks := chunksFor(m * n * k)
	if k <= maxKC && transA {
		chunks = max(chunks, m*n/hotOut)
	}
	if g.byRows {
		g.step = max(ceil(m, chunks), min(m, leastRows))
		if g.step > rowGrain {
			g.step = roundUp(g.step, rowGrain)
		}
	} else {
		g.step = roundUp(ceil(n, chunks), g.columnGrain())
	}
	return g
}

// columnGrain is the width that the kernels for m rows fill, wider if the rows of A are copied for each chunk.
func (g *matmul) columnGrain() int {
	switch {
	case g.padA || g.m <= 3:
		return 128
	case g.m <= 6 || g.m >= 48:
		return 64
	}
	return panel
}

func (g *matmul) choosePacking() packing {
	if g.transB && !g.byRows && g.m <= maxDotRows && g.k >= minDotDepth && g.k <= maxDotDepth {
		return packDots
	}
	// In place, strided rows that stay in the second-level cache do as well, and so do those that are requested early
	// and serve few tiles.
	pays := g.transB || g.m >= 96 && g.n >= 256 && g.k*g.n > packedFilter
	switch {
	case !pays:
		return packNone
	case g.byRows:
		return packShared
	}
	return packWorker
}

func (g *matmul) plan() *Plan {
	p := &Plan{out: g.m * g.n, a: g.m * g.k, b: g.k * g.n, cols: g.n, flops: 2 * g.m * g.n * g.k}
	if s := g.slice(); s != nil {
		return s.reduction.plan(p, s.run)
	}
	compute := phase{chunks: g.chunks(), run: g.compute, region: g.region}
	switch g.pack {
	case packShared:
		p.shared = g.k * roundUp(g.n, panel)
		p.phases = append(p.phases, phase{chunks: g.packChunks(), run: g.packB})
	case packWorker:
		p.worker = g.depth * roundUp(min(g.step, g.n), panel)
	case packDots:
		compute.run = g.dots
	}
	if g.padA {
		p.worker += padBlock * g.pitchA()
	}
	p.phases = append(p.phases, compute)
	return p
}

func (g *matmul) chunks() int {
	if g.byRows {
		return ceil(g.m, g.step)
	}
	return ceil(g.n, g.step)
}

func (g *matmul) region(chunk int) Region {
	r := Region{Row1: g.m, Col1: g.n, Cols: g.n}
	at := chunk * g.step
	if g.byRows {
		r.Row0, r.Row1 = at, min(at+g.step, g.m)
	} else {
		r.Col0, r.Col1 = at, min(at+g.step, g.n)
	}
	return r
}

// panelsPerChunk is how many panels of B a chunk of the packing phase handles.
func (g *matmul) panelsPerChunk() int { return max(1, packGrain/max(1, g.k*panel)) }

func (g *matmul) packChunks() int { return ceil(ceil(g.n, panel), g.panelsPerChunk()) }

func (g *matmul) packB(chunk int, args *Args, _ []float32) {
	per := g.panelsPerChunk()
	for i := chunk * per; i < min((chunk+1)*per, ceil(g.n, panel)); i++ {
		dst, n := args.Shared[i*panel*g.k:], min(panel, g.n-i*panel)
		if !g.transB && g.m >= streamedRows {
			streamRows(dst, args.B[i*panel:], n, g.k, g.n)
			continue
		}
		g.packPanel(dst, args.B, i*panel, n, 0, g.k)
	}
}

// packPanel packs n columns from column n0 and k rows from row k0 of op(B) as rows of panel floats.
func (g *matmul) packPanel(dst, b []float32, n0, n, k0, k int) {
	if g.transB {
		packTransposed(dst, b[n0*g.k+k0:], n, k, g.k, panel)
	} else {
		packRows(dst, b[k0*g.n+n0:], n, k, g.n)
	}
}

// compute computes a chunk in steps along k, each with its part of B and, if need be, blocks of copied rows of A.
func (g *matmul) compute(chunk int, args *Args, worker []float32) {
	r := g.region(chunk)
	whole := block{
		rows: 1, m: r.Row1 - r.Row0, n: r.Col1 - r.Col0, cm: g.n, am: g.k, ak: 1, nj: 1, bp: panel, bk: g.n,
	}
	if g.transA {
		whole.am, whole.ak = 1, g.m
	}
	whole.epilogue(args, r.Row0*g.n+r.Col0, r.Col0)
	for k := 0; k == 0 || k < g.k; k += g.depth {
		b := whole
		b.nk = min(g.depth, g.k-k)
		last := k+b.nk == g.k
		b.part(k == 0, last)
		used := g.operandB(&b, r, k, args, worker)
		a := r.Row0*b.am + k*b.ak
		if g.transA && !last {
			b.next = uintptr(at(args.A, a+b.nk*b.ak))
			b.nextLines, b.nextRow = ceil(b.m, 16)+1, g.m
		}
		if !g.padA {
			b.a = at(args.A, a)
			b.run()
			continue
		}
		for m := 0; m < whole.m; m += padBlock {
			part := b
			part.m = min(padBlock, whole.m-m)
			padRows(worker[used:], args.A[a+m*g.k:], part.m, b.nk, g.k, g.pitchA())
			part.a, part.am = at(worker, used), g.pitchA()
			part.moveC(m * g.n)
			part.run()
		}
	}
}

// pitchA is the distance of the copied rows of A.
func (g *matmul) pitchA() int { return roundUp(g.depth, 16) + 16 }

// operandB points the block at rows [k, k+nk) of op(B) for region r and returns how much of worker it uses.
func (g *matmul) operandB(b *block, r Region, k int, args *Args, worker []float32) int {
	switch g.pack {
	case packWorker:
		for i := 0; i < b.n; i += panel {
			g.packPanel(worker[i*b.nk:], args.B, r.Col0+i, min(panel, b.n-i), k, b.nk)
		}
		b.b, b.bk, b.bp = at(worker, 0), panel, b.nk*panel
		g.requestB(b, r, k, args)
		return b.nk * roundUp(b.n, panel)
	case packShared:
		b.b, b.bk, b.bp = at(args.Shared, r.Col0*g.k+k*panel), panel, g.k*panel
	default:
		b.b = at(args.B, k*g.n+r.Col0)
		g.requestB(b, r, k, args)
	}
	return 0
}

// requestB makes the tiles of a block request the rows of B that follow those of the block.
func (g *matmul) requestB(b *block, r Region, k int, args *Args) {
	if !g.transB && !g.byRows && k+b.nk < g.k {
		b.next = uintptr(at(args.B, (k+b.nk)*g.n+r.Col0))
		b.nextLines, b.nextRow = ceil(b.n, 16), g.n
	}
}

// dots computes a chunk of A·Bᵀ by dot products, and the epilogue after them.
func (g *matmul) dots(chunk int, args *Args, _ []float32) {
	r := g.region(chunk)
	d := dotBlock{
		a: args.A, b: args.B[r.Col0*g.k:], c: args.Out[r.Col0-args.Lo:], m: g.m, n: r.Col1 - r.Col0, k: g.k,
		am: g.k, bn: g.k, cm: g.n, load: args.Accumulate,
	}
	d.run()
	if args.Bias == nil && args.Residual == nil && args.Mask == nil && !args.ReLU {
		return
	}
	b := block{rows: 1, m: d.m, n: d.n, cm: g.n, bp: panel}
	b.epilogue(args, r.Col0, r.Col0)
	b.load = true
	b.run()
}
