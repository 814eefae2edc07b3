package gemm

// gradFilter is the gradient of a convolution's filter: dw[kh,kw,c,o] = Σ_{n,i,j} x[n, i·s+kh·d−p, j·s+kw·d−p, c]·dy[n,i,j,o].
// A chunk owns rows (kh, kw, c) of dw and goes through all images, so that each sum is one sequence.
type gradFilter struct {
	s      ConvShape
	oh, ow int
	groupC int // input channels of a group
	rows   int // rows of dw: (kh, kw, c)
	step   int // rows in a chunk
	unit   int // rows that one block computes: a part of a tap's channels, or all taps and channels of a kh
}

// narrow is the number of channels below which the taps of a row of the filter are computed together, from a copy of
// the image with zeros at its sides, rather than each from the pixels that it meets.
const narrow = 12

func newGradFilter(s ConvShape) *gradFilter {
	g := &gradFilter{s: s, oh: s.OutH(), ow: s.OutW(), groupC: s.C / s.Groups}
	g.rows = s.KH * s.KW * g.groupC
	chunks := chunksFor(s.N * g.oh * g.ow * s.OC * g.rows)
	if g.wholeRows() {
		g.unit = s.KW * g.groupC
		g.step = ceil(s.KH, min(chunks, s.KH)) * g.unit
		return g
	}
	taps := s.KH * s.KW
	g.unit = g.groupC
	if 2*chunks <= taps {
		g.step = ceil(taps, chunks) * g.unit
		return g
	}
	if parts := min(ceil(chunks, taps), g.groupC/leastRows); parts > 1 {
		g.unit = ceil(g.groupC, parts)
	}
	g.step = g.unit
	return g
}

// wholeRows reports whether the taps of a row of the filter are computed together.
func (g *gradFilter) wholeRows() bool {
	return g.s.depthwise() || g.s.Groups == 1 && g.groupC < narrow && (g.s.DilW == 1 || g.s.KW == 1)
}

// window is the width of the image that all taps of a row meet.
func (g *gradFilter) window() int { return (g.ow-1)*g.s.StrideW + (g.s.KW-1)*g.s.DilW + 1 }

// sides reports whether the taps of a row reach beyond the sides of the image.
func (g *gradFilter) sides() bool { return g.s.PadL > 0 || g.window() > g.s.W }

func (g *gradFilter) plan() *Plan {
	s := g.s
	p := &Plan{
		out: g.rows * s.OC, a: s.N * s.H * s.W * s.C, b: s.N * g.oh * g.ow * s.OC, cols: s.OC,
		flops: 2 * s.N * g.oh * g.ow * s.OC * g.rows,
	}
	if g.wholeRows() && g.sides() {
		p.worker = s.H * g.window() * s.C
	}
	if s := g.slice(); s != nil {
		return s.reduction.plan(p, s.run)
	}
	p.phases = []phase{{chunks: g.chunks(), run: g.run, region: g.region}}
	return p
}

// chunks counts the chunks; a chunk smaller than a tap never spans two taps.
func (g *gradFilter) chunks() int {
	if g.step < g.groupC {
		return g.s.KH * g.s.KW * ceil(g.groupC, g.step)
	}
	return ceil(g.rows, g.step)
}

func (g *gradFilter) region(chunk int) Region {
	r := Region{Col1: g.s.OC, Cols: g.s.OC}
	if g.step < g.groupC {
		per := ceil(g.groupC, g.step)
		c := chunk % per * g.step
		r.Row0 = chunk/per*g.groupC + c
		r.Row1 = r.Row0 + min(g.step, g.groupC-c)
		return r
	}
	r.Row0 = chunk * g.step
	r.Row1 = min(r.Row0+g.step, g.rows)
	return r
}

func (g *gradFilter) run(chunk int, args *Args, worker []float32) {
	r := g.region(chunk)
	for image := range g.s.N {
		if g.wholeRows() {
			g.rowsOfTaps(r, image, args, worker)
			continue
		}
		for row := r.Row0; row < r.Row1; row += g.unit {
			g.tap(row, min(g.unit, r.Row1-row), image, args)
		}
	}
}

// begin returns a block for rows of dw from row and the columns of group, over one image: the first image starts the
// sums, the last ends them.
func (g *gradFilter) begin(row, group, image int, args *Args) block {
	n := g.s.OC / g.s.Groups
	b := block{rows: 1, n: n, bp: panel, bk: g.s.OC, bj: g.ow * g.s.OC}
	b.epilogue(args, row*g.s.OC+group*n, group*n)
	b.part(image == 0, image == g.s.N-1)
	return b
}

// valid returns the outputs [o0, o1) for which a tap at distance d from the first meets the image.
func valid(in, out, stride, pad, d int) (o0, o1 int) {
	o0 = ceil(max(0, pad-d), stride)
	o1 = min(out, ceil(max(0, in+pad-d), stride))
	return o0, max(o0, o1)
}

// tap adds one image to rows [row, row+m) of dw, which belong to one tap.
func (g *gradFilter) tap(row, m, image int, args *Args) {
	s := g.s
	kh, kw, c := row/g.groupC/s.KW, row/g.groupC%s.KW, row%g.groupC
	i0, i1 := valid(s.H, g.oh, s.StrideH, s.PadT, kh*s.DilH)
	j0, j1 := valid(s.W, g.ow, s.StrideW, s.PadL, kw*s.DilW)
	y, x := i0*s.StrideH-s.PadT+kh*s.DilH, j0*s.StrideW-s.PadL+kw*s.DilW
	for group := range s.Groups {
		b := g.begin(row, group, image, args)
		b.m, b.am, b.cm = m, 1, s.OC
		if i1 > i0 && j1 > j0 {
			b.nj, b.aj = i1-i0, s.StrideH*s.W*s.C
			b.nk, b.ak = j1-j0, s.StrideW*s.C
			b.a = at(args.A, ((image*s.H+y)*s.W+x)*s.C+group*g.groupC+c)
			b.b = at(args.B, ((image*g.oh+i0)*g.ow+j0)*s.OC+group*b.n)
		}
		b.run()
	}
}

// rowsOfTaps adds one image to the rows of dw in r, which are all taps and channels of one or more kh.
func (g *gradFilter) rowsOfTaps(r Region, image int, args *Args, worker []float32) {
	s := g.s
	src, width := args.A[image*s.H*s.W*s.C:], s.W
	if g.sides() {
		w := padded{src: src, h: s.H, w: s.W, pixel: s.C, channels: s.C, x: -s.PadL, rows: s.H, columns: g.window()}
		w.copy(worker)
		src, width = worker, g.window()
	}
	for row := r.Row0; row < r.Row1; row += g.unit {
		kh := row / g.unit
		i0, i1 := valid(s.H, g.oh, s.StrideH, s.PadT, kh*s.DilH)
		b := g.begin(row, 0, image, args)
		b.m, b.am, b.cm = g.unit, 1, s.OC
		if s.depthwise() {
			b.lane, b.n, b.m, b.am = true, s.C, s.KW, s.DilW*s.C
		}
		if i1 > i0 {
			b.nj, b.aj = i1-i0, s.StrideH*width*s.C
			b.nk, b.ak = g.ow, s.StrideW*s.C
			b.a = at(src, (i0*s.StrideH-s.PadT+kh*s.DilH)*width*s.C)
			b.b = at(args.B, (image*g.oh+i0)*g.ow*s.OC)
		}
		b.run()
	}
}
