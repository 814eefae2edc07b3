package gemm

import (
	"fmt"
	"math"
	"unsafe"
)

const (
	// grain is the least number of multiply-adds worth a chunk of its own, about 30 µs at 100 GF/s.
	grain = 3 << 19
	// maxChunks is enough for eight threads to share a phase evenly.
	maxChunks = 16
	// depth is the step along k: a tile's rows of A stay in the first-level cache, a packed B in the second.
	depth = 256
)

// matmul is C[m×n] = op(A)·op(B), cut into chunks of rows or of columns.
type matmul struct {
	m, n, k        int
	transA, transB bool
	byRows         bool
	step           int // rows or columns in a chunk
	pack           packing
}

// packing is where the rows of B are brought together.
type packing int

const (
	packNone   packing = iota // B is read in place
	packWorker                // each chunk packs its own columns, depth rows at a time
	packShared                // a first phase packs all of B for all chunks
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
	g := &matmul{m: m, n: n, k: k, transA: transA, transB: transB, byRows: transA || m >= 2*n}
	chunks := chunksFor(m * n * k)
	if g.byRows {
		g.step = roundUp(ceil(m, chunks), 2)
	} else {
		g.step = roundUp(ceil(n, chunks), g.columnGrain())
	}
	g.pack = g.choosePacking()
	return g
}

// columnGrain is the width that the kernels for m rows fill.
func (g *matmul) columnGrain() int {
	switch {
	case g.m <= 3:
		return 128
	case g.m <= 6:
		return 64
	}
	return panel
}

func (g *matmul) choosePacking() packing {
	pays := g.transB || g.m >= 48 && g.n >= 256
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
	compute := phase{chunks: g.chunks(), run: g.compute, region: g.region}
	switch g.pack {
	case packShared:
		p.shared = g.k * roundUp(g.n, panel)
		p.phases = append(p.phases, phase{chunks: g.packChunks(), run: g.packB})
	case packWorker:
		p.worker = min(depth, g.k) * roundUp(min(g.step, g.n), panel)
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
		g.packPanel(args.Shared[i*panel*g.k:], args.B, i*panel, min(panel, g.n-i*panel), 0, g.k)
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

func (g *matmul) compute(chunk int, args *Args, worker []float32) {
	r := g.region(chunk)
	b := block{
		rows: 1, m: r.Row1 - r.Row0, n: r.Col1 - r.Col0, cm: g.n,
		am: g.k, ak: 1, nj: 1, bp: panel, bk: g.n,
	}
	if g.transA {
		b.am, b.ak = 1, g.m
	}
	b.epilogue(args, r.Row0*g.n+r.Col0, r.Col0)
	a := r.Row0 * b.am
	if g.pack != packWorker {
		g.whole(b, args, a, r)
		return
	}
	final := b
	for k0 := 0; k0 == 0 || k0 < g.k; k0 += depth {
		b := final
		b.nk = min(depth, g.k-k0)
		for i := 0; i < b.n; i += panel {
			g.packPanel(worker[i*b.nk:], args.B, r.Col0+i, min(panel, b.n-i), k0, b.nk)
		}
		b.b, b.bk, b.bp = at(worker, 0), panel, b.nk*panel
		b.a = at(args.A, a+k0*b.ak)
		if k0 > 0 {
			b.load = true
		}
		if k0+b.nk < g.k {
			b.relu, b.bias, b.res, b.mask = false, nil, nil, nil
		}
		b.run()
	}
}

// whole computes a chunk from B in place, or packed as a whole.
func (g *matmul) whole(b block, args *Args, a int, r Region) {
	b.nk = g.k
	b.a = at(args.A, a)
	if g.pack == packShared {
		b.b, b.bk, b.bp = at(args.Shared, r.Col0*g.k), panel, g.k*panel
	} else {
		b.b = at(args.B, r.Col0)
	}
	b.run()
}

// epilogue sets what happens to C, which starts at element c of Out and column n.
func (b *block) epilogue(args *Args, c, n int) {
	b.c = at(args.Out, c)
	b.bias, b.res, b.mask = at(args.Bias, n), at(args.Residual, c), at(args.Mask, c)
	b.load, b.relu = args.Accumulate, args.ReLU
}

// at returns the address of s[i], or nil if s has none.
func at(s []float32, i int) unsafe.Pointer {
	if i >= len(s) {
		return nil
	}
	return unsafe.Pointer(&s[i])
}

// chunksFor is the number of chunks that work multiply-adds are worth.
func chunksFor(work int) int { return min(max(work/grain, 1), maxChunks) }

func ceil(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceil(a, b) * b }
