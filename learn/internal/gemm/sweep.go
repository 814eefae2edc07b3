package gemm

import "math"

// sweep computes images by correlations that share the rows of a chunk among them: one for the forward pass, one for
// each residue of the stride for the gradient of the input.
type sweep struct {
	parts   []correlation
	images  int
	rows    int  // of an image of Out
	step    int  // rows of all images in a chunk
	columns int  // channels in a chunk, of those of a group
	direct  bool // images are read in place
	x0, x1  int  // the columns of an image that are read, perhaps outside
	prepare []phase
	shared  int
}

func newForward(s ConvShape) *sweep {
	c := correlation{
		y:   axis{in: s.H, out: s.OutH(), taps: s.KH, dil: s.DilH, stride: s.StrideH, pad: s.PadT, step: 1},
		x:   axis{in: s.W, out: s.OutW(), taps: s.KW, dil: s.DilW, stride: s.StrideW, pad: s.PadL, step: 1},
		cIn: s.C, cOut: s.OC, groupC: s.C / s.Groups, n: s.OC / s.Groups, groups: s.Groups,
	}
	if s.depthwise() {
		c.lane, c.groups, c.groupC, c.n = true, 1, s.C, s.C
	}
	f := &sweep{images: s.N, rows: s.OutH()}
	if c.groups == 1 && c.n > panel && c.depth()*c.n > packedFilter {
		c.packed = true
		f.pack(c.depth(), c.n)
	}
	f.parts = []correlation{c}
	f.cut()
	return f
}

// packedFilter is the number of weights from which they are packed: strided rows of so many no longer stay in the
// second-level cache.
const packedFilter = 2 * residentL2

// pack adds the phase that packs a filter of depth rows and n columns as panels.
func (f *sweep) pack(depth, n int) {
	f.shared = depth * packedWidth(n)
	f.prepare = []phase{{chunks: ceil(n, panel), run: func(i int, args *Args, _ []float32) {
		packRows(args.Shared[i*panel*depth:], args.B[i*panel:], min(panel, n-i*panel), depth, n)
	}}}
}

// cut chooses the rows and columns of a chunk: whole images or an even part of one, all columns or, where the weights
// outweigh the images, a part of them.
func (f *sweep) cut() {
	work := 0
	for _, c := range f.parts {
		work += c.work()
	}
	c := f.parts[0]
	chunks := chunksFor(f.images * work)
	weights := c.depth() * c.n
	if weights <= residentL2 {
		chunks = max(chunks, f.images*f.rows*c.x.out*c.cOut/(2*hotOut))
	}
	parts := 1
	for c.groups == 1 && !c.lane && 2*parts <= chunks && c.n/(2*parts) >= 2*panel &&
		chunks/parts*weights > 2*parts*f.images*c.y.in*c.x.in*c.cIn {
		parts *= 2
	}
	f.columns = roundUp(ceil(c.n, parts), panel)
	f.cutRows(ceil(chunks, parts))
	f.frame()
}

// frame finds the columns that are read and whether an image can be read in place.
func (f *sweep) frame() {
	f.direct = f.parts[0].groups == 1
	f.x0, f.x1 = math.MaxInt32, math.MinInt32
	for _, c := range f.parts {
		if c.empty() {
			continue
		}
		f.direct = f.direct && c.y.inside() && c.x.inside()
		f.x0, f.x1 = min(f.x0, -c.x.pad), max(f.x1, c.x.extent(c.x.count())-c.x.pad)
	}
}

// read returns the rows [y0, y1) of an image that outputs at rows [lo, hi) read, perhaps outside.
func (f *sweep) read(lo, hi int) (y0, y1 int) {
	y0, y1 = math.MaxInt32, math.MinInt32
	for i := range f.parts {
		c := &f.parts[i]
		if q0, q1 := c.y.within(lo, hi); !c.empty() && q0 < q1 {
			y := q0*c.y.stride - c.y.pad
			y0, y1 = min(y0, y), max(y1, y+c.y.extent(q1-q0))
		}
	}
	return min(y0, y1), y1
}

// scratch is the floats of a copy of what the rows of any chunk read.
func (f *sweep) scratch() int {
	if f.direct {
		return 0
	}
	most := 0
	for lo := 0; lo < f.rows; lo += min(f.step, f.rows) {
		y0, y1 := f.read(lo, min(lo+f.step, f.rows))
		most = max(most, (y1-y0)*max(0, f.x1-f.x0)*f.parts[0].groupC)
	}
	return most
}

// window returns what outputs of group g at rows [lo, hi) read, copied to worker if it is not read in place.
func (f *sweep) window(image, lo, hi, g int, args *Args, worker []float32) window {
	c := &f.parts[0]
	src := args.A[image*c.y.in*c.x.in*c.cIn:]
	if f.direct {
		return window{data: src, pitch: c.x.in * c.cIn, width: c.cIn}
	}
	y0, y1 := f.read(lo, hi)
	p := padded{
		src: src, h: c.y.in, w: c.x.in, pixel: c.cIn, channel: g * c.groupC, channels: c.groupC,
		y: y0, x: f.x0, rows: y1 - y0, columns: f.x1 - f.x0,
	}
	p.copy(worker)
	return window{data: worker, y: y0, x: f.x0, pitch: p.columns * c.groupC, width: c.groupC}
}

// cutRows cuts the rows of all images into chunks.
func (f *sweep) cutRows(chunks int) {
	if chunks <= f.images {
		f.step = ceil(f.images, chunks) * f.rows
		return
	}
	f.step = ceil(f.rows, ceil(chunks, f.images))
}

// columnChunks is the number of chunks that share rows.
func (f *sweep) columnChunks() int { return ceil(f.parts[0].n, f.columns) }

func (f *sweep) chunks() int {
	if f.step >= f.rows {
		return ceil(f.images*f.rows, f.step) * f.columnChunks()
	}
	return f.images * ceil(f.rows, f.step) * f.columnChunks()
}

// span returns the rows of a chunk, counted through all images, and its channels.
func (f *sweep) span(chunk int) (lo, hi, n0, n1 int) {
	n0 = chunk % f.columnChunks() * f.columns
	n1 = min(n0+f.columns, f.parts[0].n)
	chunk /= f.columnChunks()
	if f.step >= f.rows {
		lo = chunk * f.step
		return lo, min(lo+f.step, f.images*f.rows), n0, n1
	}
	per := ceil(f.rows, f.step)
	image := chunk / per
	lo = chunk % per * f.step
	return image*f.rows + lo, image*f.rows + min(lo+f.step, f.rows), n0, n1
}

func (f *sweep) run(chunk int, args *Args, worker []float32) {
	lo, hi, n0, n1 := f.span(chunk)
	for lo < hi {
		image := lo / f.rows
		end := min(hi, (image+1)*f.rows)
		for g := range f.parts[0].groups {
			in := f.window(image, lo-image*f.rows, end-image*f.rows, g, args, worker)
			for i := range f.parts {
				f.parts[i].rows(image, lo-image*f.rows, end-image*f.rows, g, n0, n1, in, args)
			}
		}
		lo = end
	}
}

// region is the rows of a chunk and its channels, or all channels where there are groups.
func (f *sweep) region(chunk int) Region {
	c := &f.parts[0]
	lo, hi, n0, n1 := f.span(chunk)
	if c.groups > 1 {
		n0, n1 = 0, c.cOut
	}
	return Region{Row0: lo * c.x.out, Row1: hi * c.x.out, Col0: n0, Col1: n1, Cols: c.cOut}
}

func (f *sweep) plan(s ConvShape) *Plan {
	c := f.parts[0]
	out := f.images * f.rows * c.x.out
	p := &Plan{
		out: out * c.cOut, a: f.images * c.y.in * c.x.in * c.cIn, b: s.KH * s.KW * s.C / s.Groups * s.OC,
		cols: c.cOut, shared: f.shared, worker: f.scratch(), phases: f.prepare,
	}
	for _, c := range f.parts {
		p.flops += 2 * f.images * c.work()
	}
	p.phases = append(p.phases, phase{chunks: f.chunks(), run: f.run, region: f.region})
	return p
}
