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
	y, x      axis
	cIn, cOut int // channels of a pixel of the tensors
	groupC, n int // channels of one group: input, output
	groups    int
	lane      bool // depthwise: channels are multiplied lane by lane
	weights   int  // where the weights start in B or, if packed, in Shared
	packed    bool // the weights are in Shared, as panels
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

// rows computes the outputs of group g that stand at rows [lo, hi) and channels [n0, n1) of the group, from a window
// of an image.
func (c *correlation) rows(image, lo, hi, g, n0, n1 int, in window, args *Args) {
	q0, q1 := c.y.within(lo, hi)
	if q0 >= q1 {
		return
	}
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
		return
	}
	b.a = in.at(q0*c.y.stride-c.y.pad, -c.x.pad)
	b.am, b.ar = c.x.stride*in.width, c.y.stride*in.pitch
	c.filter(&b, g, n0, in, args)
}

// filter points the block at the weights of group g from channel n0 and runs it.
func (c *correlation) filter(b *block, g, n0 int, in window, args *Args) {
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
		b.nk, b.ak = c.x.taps, c.x.dil*in.width
		b.nj, b.aj, b.bj = c.y.taps, c.y.dil*in.pitch, c.x.taps*b.bk
		b.run()
		return
	}
	b.ak = 1
	if c.x.dil == 1 || c.x.taps == 1 {
		b.nk = c.x.taps * k
		b.nj, b.aj, b.bj = c.y.taps, c.y.dil*in.pitch, b.nk*b.bk
		b.run()
		return
	}
	b.nk = k
	b.nj, b.aj, b.bj = c.x.taps, c.x.dil*in.width, k*b.bk
	whole := *b
	for t := range c.y.taps {
		row := whole
		row.a = offset(whole.a, t*c.y.dil*in.pitch)
		row.b = at(weights, start+t*c.x.taps*k*b.bk)
		row.part(t == 0, t == c.y.taps-1)
		row.run()
	}
}
