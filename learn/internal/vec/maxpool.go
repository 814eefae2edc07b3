package vec

type (
	// maxPoolKernel does n output pixels of c channels. Pixel j's window starts at x[j·pixel]; its
	// tap (i,k) is rowStep·i + tapStep·k further and has the number first + i·width + k.
	maxPoolKernel = func(dst []float32, arg []uint8, x []float32, n, c, kh, kw, pixel, rowStep, tapStep, first, width int)
	// unpoolKernel sets (or adds to) dx[j·pixel + k·tapStep + ch] = dy[j·c + ch] where
	// arg[j·c + ch] = first + k and, when y is not empty, y[j·c + ch] > 0; else 0.
	unpoolKernel = func(dx, dy []float32, arg []uint8, y []float32, n, c, kw, pixel, tapStep, first int)
)

// MaxArg is the largest number of taps of a max pool, whose tap numbers are kept in a byte.
const MaxArg = 255

// MaxPool computes output rows [lo, hi) of the N·OutH rows of a max pool: y, and in arg the number
// kh·KW + kw of the first largest tap, for the backward pass. A NaN counts as the largest.
// KH·KW must be at most MaxArg, and p must pass Check.
func MaxPool(p *Pool, y []float32, arg []uint8, x []float32, lo, hi int) {
	oh, ow := p.OutH(), p.OutW()
	in0, in1 := p.interior()
	f := maxPoolTab.pick()
	step := max(1, 2*block/max(p.C*p.KH*p.KW, 1))
	for r := lo; r < hi; r++ {
		n, top := r/oh, r%oh*p.StrideH-p.PadT
		k0, k1 := taps(top, p.DilH, p.KH, p.H)
		line := (n*p.H + top + k0*p.DilH) * p.W * p.C
		for o := 0; o < ow; {
			left, count := o*p.StrideW-p.PadL, 1
			t0, t1 := 0, p.KW
			if o >= in0 && o < in1 {
				count = min(step, in1-o)
			} else {
				t0, t1 = taps(left, p.DilW, p.KW, p.W)
			}
			at := (r*ow + o) * p.C
			end := at + count*p.C
			f(y[at:end], arg[at:end], x[line+(left+t0*p.DilW)*p.C:], count, p.C, k1-k0, t1-t0,
				p.StrideW*p.C, p.DilH*p.W*p.C, p.DilW*p.C, k0*p.KW+t0, p.KW)
			o += count
		}
	}
}

// MaxPoolGrad computes input rows [lo, hi) of the N·H rows of the gradient dx of a max pool from dy
// and the arg of the forward pass. Where y, the pool's output, is not nil, the gradient also passes
// a ReLU that stood before the pool.
func MaxPoolGrad(p *Pool, dx, dy []float32, arg []uint8, y []float32, lo, hi int) {
	oh := p.OutH()
	apart := p.DilW*(p.KW-1) < p.StrideW && p.DilH*(p.KH-1) < p.StrideH // windows do not overlap
	covered := apart && p.DilW == 1 && p.KW == p.StrideW && p.PadL == 0 && p.OutW()*p.KW == p.W
	for r := lo; r < hi; r++ {
		n, ih := r/p.H, r%p.H
		row := dx[r*p.W*p.C:][:p.W*p.C]
		done := false
		if !covered {
			clear(row)
		}
		// Output row o sees this row as tap kh when o·StrideH - PadT + kh·DilH = ih.
		for kh := p.KH - 1; kh >= 0; kh-- {
			at := ih + p.PadT - kh*p.DilH
			if at < 0 || at%p.StrideH != 0 || at/p.StrideH >= oh {
				continue
			}
			p.unpoolRow(row, dy, arg, y, n*oh+at/p.StrideH, kh*p.KW, apart)
			done = true
		}
		if covered && !done {
			clear(row)
		}
	}
}

// unpoolRow spreads output row o over one input row, whose taps are first, first+1, ….
func (p *Pool) unpoolRow(row, dy []float32, arg []uint8, y []float32, o, first int, apart bool) {
	t := &unpoolAddTab
	if apart {
		t = &unpoolSetTab
	}
	f := t.pick()
	ow := p.OutW()
	in0, in1 := p.interior()
	step := max(1, 2*block/max(p.C*p.KW, 1))
	for j := 0; j < ow; {
		left, count := j*p.StrideW-p.PadL, 1
		t0, t1 := 0, p.KW
		if j >= in0 && j < in1 {
			count = min(step, in1-j)
		} else {
			t0, t1 = taps(left, p.DilW, p.KW, p.W)
		}
		at := (o*ow + j) * p.C
		end := at + count*p.C
		var ys []float32
		if y != nil {
			ys = y[at:end]
		}
		f(row[(left+t0*p.DilW)*p.C:], dy[at:end], arg[at:end], ys, count, p.C, t1-t0, p.StrideW*p.C, p.DilW*p.C, first+t0)
		j += count
	}
}

func maxPoolGeneric(dst []float32, arg []uint8, x []float32, n, c, kh, kw, pixel, rowStep, tapStep, first, width int) {
	for j := range n {
		d, a := dst[j*c:][:c], arg[j*c:][:c]
		for i := range kh {
			for k := range kw {
				num := uint8(first + i*width + k)
				xs := x[j*pixel+i*rowStep+k*tapStep:][:c]
				if i == 0 && k == 0 {
					copy(d, xs)
					for ch := range a {
						a[ch] = num
					}
					continue
				}
				for ch, v := range xs {
					if v > d[ch] || v != v {
						d[ch], a[ch] = v, num
					}
				}
			}
		}
	}
}

func unpoolSetGeneric(dx, dy []float32, arg []uint8, y []float32, n, c, kw, pixel, tapStep, first int) {
	for j := range n {
		for k := range kw {
			clear(dx[j*pixel+k*tapStep:][:c])
		}
	}
	unpoolAddGeneric(dx, dy, arg, y, n, c, kw, pixel, tapStep, first)
}

func unpoolAddGeneric(dx, dy []float32, arg []uint8, y []float32, n, c, kw, pixel, tapStep, first int) {
	for j := range n {
		gs, as := dy[j*c:][:c], arg[j*c:][:c]
		for ch, g := range gs {
			if k := int(as[ch]) - first; k >= 0 && k < kw && (len(y) == 0 || y[j*c+ch] > 0) {
				dx[j*pixel+k*tapStep+ch] += g
			}
		}
	}
}
