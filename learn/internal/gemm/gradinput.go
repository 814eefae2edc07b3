package gemm

// gradTaps lists, for inputs at off, off+stride, …, the taps of the filter that reach them, last first, and the
// axis by which they are a correlation over dy. From y[o] ← x[o·s − pad + k·dil] follows that x[q·s + off] feeds
// y[q + (off + pad − k·dil)/s] for those k for which the division is exact.
func gradTaps(in, out, taps, dil, stride, pad, off int) ([]int, axis) {
	a := axis{in: out, out: in, dil: 1, stride: 1, first: off, step: stride}
	var list []int
	for k := taps - 1; k >= 0; k-- {
		if mod(off+pad-k*dil, stride) != 0 {
			continue
		}
		shift := (off + pad - k*dil) / stride
		switch len(list) {
		case 0:
			a.pad = -shift
		case 1:
			a.dil = shift + a.pad
		}
		list = append(list, k)
	}
	a.taps = len(list)
	return list, a
}

func mod(a, b int) int { return ((a % b) + b) % b }

// tap is one tap of the filter and where the gradient of the input wants it, transposed, in Shared.
type tap struct {
	kh, kw int
	at     int // of group 0
	depth  int // rows of a panel: the products in a sum of its correlation
}

// turner reverses and transposes the filter, which makes the gradient of the input a correlation over dy: one for each
// residue of the stride, so that no inserted zeros are multiplied.
type turner struct {
	s    ConvShape
	taps []tap
	per  int // taps in a chunk
}

func newGradInput(s ConvShape) *sweep {
	f := &sweep{images: s.N, rows: s.H}
	t := &turner{s: s, per: max(1, packGrain/(s.C/s.Groups*s.OC))}
	for oy := range min(s.StrideH, s.H) {
		for ox := range min(s.StrideW, s.W) {
			c := correlation{
				cIn: s.OC, cOut: s.C, groupC: s.OC / s.Groups, n: s.C / s.Groups, groups: s.Groups,
				weights: f.shared, packed: true,
			}
			if s.depthwise() {
				c.lane, c.groups, c.groupC, c.n = true, 1, s.C, s.C
			}
			var rows, columns []int
			rows, c.y = gradTaps(s.H, s.OutH(), s.KH, s.DilH, s.StrideH, s.PadT, oy)
			columns, c.x = gradTaps(s.W, s.OutW(), s.KW, s.DilW, s.StrideW, s.PadL, ox)
			f.parts = append(f.parts, c)
			t.add(rows, columns, c)
			f.shared += c.groups * c.depth() * packedWidth(c.n)
		}
	}
	if len(t.taps) > 0 {
		f.prepare = []phase{{chunks: ceil(len(t.taps), t.per), run: t.run}}
	}
	f.cut()
	return f
}

// add lists the taps of one correlation in the order in which it reads them.
func (t *turner) add(rows, columns []int, c correlation) {
	step := c.groupC * min(panel, c.n)
	if c.lane {
		step = c.n
	}
	at := c.weights
	for _, kh := range rows {
		for _, kw := range columns {
			t.taps = append(t.taps, tap{kh: kh, kw: kw, at: at, depth: c.depth()})
			at += step
		}
	}
}

func (t *turner) run(chunk int, args *Args, _ []float32) {
	s := t.s
	groupC, groupOC := s.C/s.Groups, s.OC/s.Groups
	for _, tap := range t.taps[chunk*t.per : min((chunk+1)*t.per, len(t.taps))] {
		w := args.B[(tap.kh*s.KW+tap.kw)*groupC*s.OC:]
		if s.depthwise() {
			copy(args.Shared[tap.at:tap.at+s.C], w)
			continue
		}
		for g := range s.Groups {
			dst := args.Shared[tap.at+g*tap.depth*packedWidth(groupC):]
			for c := 0; c < groupC; c += panel {
				n := min(panel, groupC-c)
				packTransposed(dst[c*tap.depth:], w[c*s.OC+g*groupOC:], n, groupOC, s.OC, min(panel, groupC))
			}
		}
	}
}
