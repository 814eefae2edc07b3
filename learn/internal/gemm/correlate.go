package gemm

// axis is one dimension of a correlation: output q with tap t reads input q·stride − pad + t·dil, where inputs
// outside [0, in) are zero, and stands at q·step + first in the output tensor of size out.
type axis struct {
	in, out           int
	taps, dil, stride int
	pad               int // may be negative
	first, step       int
}

// count returns the outputs of the axis.
func (a axis) count() int { return ceil(a.out-a.first, a.step) }

// within returns the outputs [q0, q1) that stand at [lo, hi) of the output tensor.
func (a axis) within(lo, hi int) (q0, q1 int) {
	return ceil(max(0, lo-a.first), a.step), ceil(max(0, hi-a.first), a.step)
}

// extent returns the inputs that q outputs span.
func (a axis) extent(q int) int { return (q-1)*a.stride + (a.taps-1)*a.dil + 1 }

// inside reports whether no output reads outside the input.
func (a axis) inside() bool { return a.pad <= 0 && a.extent(a.count())-a.pad <= a.in }

// correlation slides a filter over images: the forward pass, or one phase of the gradient of a strided input.
type correlation struct {
	y, x         axis
	cIn, cOut    int // channels of a pixel of the tensors
	groupC, n    int // channels of one group: input, output
	groups       int
	lane         bool // depthwise: channels are multiplied lane by lane
	direct       bool // the input is read in place
	weights      int  // where the weights start in B or, if packed, in Shared
	packed       bool // the weights are in Shared, as panels
	pitch, width int  // of a row and of a pixel of the input as it is read, in floats
}

// finish derives how the input is read.
func (c correlation) finish() correlation {
	c.direct = c.groups == 1 && c.y.inside() && c.x.inside()
	c.width = c.groupC
	c.pitch = c.x.extent(c.x.count()) * c.groupC
	if c.direct {
		c.pitch = c.x.in * c.cIn
	}
	return c
}

// scratch is the floats that rows outputs need for their padded input.
func (c correlation) scratch(rows int) int {
	if c.direct || c.empty() {
		return 0
	}
	return c.y.extent(min(rows, c.y.count())) * c.pitch
}

// empty reports whether no tap contributes, so that the outputs are an empty sum.
func (c correlation) empty() bool { return c.y.taps == 0 || c.x.taps == 0 }

// depth is the number of products in a sum.
func (c correlation) depth() int {
	if c.lane {
		return c.y.taps * c.x.taps
	}
	return c.y.taps * c.x.taps * c.groupC
}

// work is the multiply-adds of one image.
func (c correlation) work() int { return c.y.count() * c.x.count() * c.cOut * c.depth() }

// rows computes the outputs that stand at rows [lo, hi) and channels [n0, n1) of an image; with groups, n0 is 0 and n1
// the channels of a group.
func (c *correlation) rows(image, lo, hi, n0, n1 int, args *Args, worker []float32) {
	q0, q1 := c.y.within(lo, hi)
	if q0 >= q1 || c.x.count() <= 0 {
		return
	}
	for g := range c.groups {
		b := block{
			rows: q1 - q0, cr: c.y.step * c.x.out * c.cOut,
			m: c.x.count(), cm: c.x.step * c.cOut, n: n1 - n0, lane: c.lane,
		}
		row := image*c.y.out + q0*c.y.step + c.y.first
		channel := g*c.n + n0
		b.epilogue(args, (row*c.x.out+c.x.first)*c.cOut+channel, channel)
		if c.empty() {
			b.bp = panel
			b.run()
			continue
		}
		c.input(&b, image, q0, q1, g, args.A, worker)
		c.filter(&b, g, n0, args)
	}
}

// input points the block at the input pixels of outputs [q0, q1), copied between zeros if they are not read in place.
func (c *correlation) input(b *block, image, q0, q1, g int, in, worker []float32) {
	b.am, b.ar = c.x.stride*c.width, c.y.stride*c.pitch
	y0 := q0*c.y.stride - c.y.pad
	if c.direct {
		b.a = at(in, ((image*c.y.in+y0)*c.x.in-c.x.pad)*c.cIn)
		return
	}
	w := padded{
		src: in[image*c.y.in*c.x.in*c.cIn:], h: c.y.in, w: c.x.in, pixel: c.cIn, channel: g * c.groupC, channels: c.groupC,
		y: y0, x: -c.x.pad, rows: c.y.extent(q1 - q0), columns: c.pitch / c.groupC,
	}
	w.copy(worker)
	b.a = at(worker, 0)
}

// filter points the block at the weights of group g from channel n0 and runs it.
func (c *correlation) filter(b *block, g, n0 int, args *Args) {
	k := c.groupC
	if c.lane {
		k = 1
	}
	weights := args.B
	b.bk, b.bp = c.cOut, panel
	start := c.weights + g*c.n + n0
	if c.packed {
		weights = args.Shared
		start = c.weights + g*c.depth()*packedWidth(c.n) + n0*c.depth()
		if !c.lane {
			b.bk, b.bp = min(panel, c.n), c.depth()*panel
		}
	}
	b.b = at(weights, start)
	if c.lane {
		b.nk, b.ak = c.x.taps, c.x.dil*c.width
		b.nj, b.aj, b.bj = c.y.taps, c.y.dil*c.pitch, c.x.taps*b.bk
		b.run()
		return
	}
	b.ak = 1
	if c.x.dil == 1 || c.x.taps == 1 {
		b.nk = c.x.taps * k
		b.nj, b.aj, b.bj = c.y.taps, c.y.dil*c.pitch, b.nk*b.bk
		b.run()
		return
	}
	b.nk = k
	b.nj, b.aj, b.bj = c.x.taps, c.x.dil*c.width, k*b.bk
	whole := *b
	for t := range c.y.taps {
		row := whole
		row.a = offset(whole.a, t*c.y.dil*c.pitch)
		row.b = at(weights, start+t*c.x.taps*k*b.bk)
		row.part(t == 0, t == c.y.taps-1)
		row.run()
	}
}

// padded is a window of one image that may reach beyond its edges.
type padded struct {
	src               []float32 // the image
	h, w, pixel       int       // its size; floats of a pixel
	channel, channels int       // the channels of the window
	y, x              int       // the window's first row and column, perhaps outside
	rows, columns     int
}

// copy writes the window to dst, dense, with zeros outside the image.
func (p *padded) copy(dst []float32) {
	pitch := p.columns * p.channels
	left := min(max(-p.x, 0), p.columns)
	right := max(min(p.w-p.x, p.columns), left)
	for r := range p.rows {
		row := dst[r*pitch : (r+1)*pitch]
		y := p.y + r
		if y < 0 || y >= p.h {
			clear(row)
			continue
		}
		clear(row[:left*p.channels])
		clear(row[right*p.channels:])
		if left == right {
			continue
		}
		src := p.src[(y*p.w+p.x+left)*p.pixel+p.channel:]
		if p.pixel == p.channels {
			copy(row[left*p.channels:right*p.channels], src)
			continue
		}
		for x := left; x < right; x++ {
			copy(row[x*p.channels:(x+1)*p.channels], src[(x-left)*p.pixel:])
		}
	}
}
