package gemm

// maxSlices is the most parts into which a long sum with a small result is cut. It does not depend on the number of
// threads, so neither do the bits.
const maxSlices = 8

// reduction adds partial results that earlier chunks left one after another in Shared, in order, and applies the
// epilogue.
type reduction struct{ slices, rows, cols int }

// one is the factor of each partial result: their sum is a product with a row of ones.
var one = []float32{1}

func (s reduction) run(_ int, args *Args, _ []float32) {
	size := s.rows * s.cols
	for row := range s.rows {
		b := block{
			a: at(one, 0), b: at(args.Shared, row*s.cols), rows: 1, m: 1, n: s.cols, bp: panel,
			nk: s.slices, bk: size, nj: 1, cm: s.cols,
		}
		b.epilogue(args, row*s.cols, 0)
		b.run()
	}
}

// partial returns the arguments of a slice: its result goes to Shared, its operands start at a and b.
func (s reduction) partial(args *Args, slice, a, b int) Args {
	size := s.rows * s.cols
	return Args{Out: args.Shared[slice*size : (slice+1)*size], A: args.A[a:], B: args.B[b:]}
}

// plan replaces the phases of p.
func (s reduction) plan(p *Plan, run func(slice int, args *Args, worker []float32)) *Plan {
	whole := Region{Row1: s.rows, Col1: s.cols, Cols: s.cols}
	p.shared = s.slices * s.rows * s.cols
	p.phases = []phase{
		{chunks: s.slices, run: run},
		{chunks: 1, run: s.run, region: func(int) Region { return whole }},
	}
	return p
}

// slicesFor is the number of parts for work multiply-adds that natural chunks would not share evenly among threads,
// of a sum over length terms, each part of which keeps at least least of them.
func slicesFor(work, natural, length, least int) int {
	if natural >= maxSlices/2 || work < 2*grain {
		return 1
	}
	return max(1, min(maxSlices, work/grain, length/least))
}

// slicedMatMul is a product Aᵀ·B with a small result.
type slicedMatMul struct {
	reduction
	full, last *matmul // of a slice of k
}

// leastSlice is the shortest part of k.
const leastSlice = 512

// slice returns the product cut along k, or nil if its chunks are enough as they are.
func (g *matmul) slice() *slicedMatMul {
	if !g.transA || g.transB || g.m*g.n > hotOut {
		return nil
	}
	n := slicesFor(g.m*g.n*g.k, ceil(g.m, max(g.step, leastRows)), g.k, leastSlice)
	if n == 1 {
		return nil
	}
	k := ceil(g.k, n)
	n = ceil(g.k, k)
	s := &slicedMatMul{reduction: reduction{n, g.m, g.n}}
	s.full, s.last = newMatMul(g.m, g.n, k, true, false), newMatMul(g.m, g.n, g.k-(n-1)*k, true, false)
	for _, part := range []*matmul{s.full, s.last} {
		part.step, part.pack = g.m, packNone
	}
	return s
}

func (s *slicedMatMul) run(slice int, args *Args, worker []float32) {
	g := s.full
	k := slice * g.k
	if slice == s.slices-1 {
		g = s.last
	}
	part := s.partial(args, slice, k*g.m, k*g.n)
	g.compute(0, &part, worker)
}

// slicedFilter is the gradient of a filter that is cut into slices of images.
type slicedFilter struct {
	reduction
	full, last *gradFilter
}

// slice returns the gradient cut along the images, or nil if its chunks are enough as they are.
func (g *gradFilter) slice() *slicedFilter {
	if g.rows*g.s.OC > hotOut {
		return nil
	}
	n := slicesFor(g.s.N*g.oh*g.ow*g.s.OC*g.rows, g.chunks(), g.s.N, 1)
	if n == 1 {
		return nil
	}
	images := ceil(g.s.N, n)
	n = ceil(g.s.N, images)
	full, last := g.s, g.s
	full.N, last.N = images, g.s.N-(n-1)*images
	s := &slicedFilter{reduction: reduction{n, g.rows, g.s.OC}, full: newGradFilter(full), last: newGradFilter(last)}
	s.full.step, s.last.step = g.rows, g.rows
	return s
}

func (s *slicedFilter) run(slice int, args *Args, worker []float32) {
	g := s.full
	image := slice * g.s.N
	if slice == s.slices-1 {
		g = s.last
	}
	part := s.partial(args, slice, image*g.s.H*g.s.W*g.s.C, image*g.oh*g.ow*g.s.OC)
	g.run(0, &part, worker)
}
