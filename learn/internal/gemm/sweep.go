package gemm

// sweep computes images by correlations that share the rows of a chunk among them: one for the forward pass, one for
// each residue of the stride for the gradient of the input.
type sweep struct {
	parts   []correlation
	images  int
	rows    int // of an image of Out
	step    int // rows of all images in a chunk
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
	f := &sweep{parts: []correlation{c.finish()}, images: s.N, rows: s.OutH()}
	f.cut()
	return f
}

// cut chooses the rows of a chunk: whole images, or an even part of one.
func (f *sweep) cut() {
	work := 0
	for _, c := range f.parts {
		work += c.work()
	}
	chunks := chunksFor(f.images * work)
	if c := f.parts[0]; c.depth()*c.cOut <= residentL2 {
		chunks = max(chunks, f.images*f.rows*c.x.out*c.cOut/(2*hotOut))
	}
	if chunks <= f.images {
		f.step = ceil(f.images, chunks) * f.rows
		return
	}
	f.step = ceil(f.rows, ceil(chunks, f.images))
}

func (f *sweep) chunks() int {
	if f.step >= f.rows {
		return ceil(f.images*f.rows, f.step)
	}
	return f.images * ceil(f.rows, f.step)
}

// span returns the rows of a chunk, counted through all images.
func (f *sweep) span(chunk int) (lo, hi int) {
	if f.step >= f.rows {
		lo = chunk * f.step
		return lo, min(lo+f.step, f.images*f.rows)
	}
	per := ceil(f.rows, f.step)
	image := chunk / per
	lo = chunk % per * f.step
	return image*f.rows + lo, image*f.rows + min(lo+f.step, f.rows)
}

func (f *sweep) run(chunk int, args *Args, worker []float32) {
	lo, hi := f.span(chunk)
	for lo < hi {
		image := lo / f.rows
		end := min(hi, (image+1)*f.rows)
		for i := range f.parts {
			f.parts[i].rows(image, lo-image*f.rows, end-image*f.rows, args, worker)
		}
		lo = end
	}
}

func (f *sweep) plan(s ConvShape) *Plan {
	c := f.parts[0]
	out := f.images * f.rows * c.x.out
	p := &Plan{
		out: out * c.cOut, a: f.images * c.y.in * c.x.in * c.cIn, b: s.KH * s.KW * s.C / s.Groups * s.OC,
		cols: c.cOut, shared: f.shared, phases: f.prepare,
	}
	for _, c := range f.parts {
		p.worker = max(p.worker, c.scratch(min(f.step, f.rows)))
		p.flops += 2 * f.images * c.work()
	}
	region := func(chunk int) Region {
		lo, hi := f.span(chunk)
		return Region{Row0: lo * c.x.out, Row1: hi * c.x.out, Col1: c.cOut, Cols: c.cOut}
	}
	p.phases = append(p.phases, phase{chunks: f.chunks(), run: f.run, region: region})
	return p
}
