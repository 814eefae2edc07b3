package vec

// AvgPool computes output rows [lo, hi) of the N·OutH rows of an average pool. With countPad the
// divisor is KH·KW, else the number of taps inside the input. p must pass Check.
func AvgPool(p *Pool, y, x []float32, countPad bool, lo, hi int) {
	oh, ow := p.OutH(), p.OutW()
	f := colSumTab.pick()
	for r := lo; r < hi; r++ {
		n, top := r/oh, r%oh*p.StrideH-p.PadT
		k0, k1 := taps(top, p.DilH, p.KH, p.H)
		for o := range ow {
			left := o*p.StrideW - p.PadL
			t0, t1 := taps(left, p.DilW, p.KW, p.W)
			d := y[(r*ow+o)*p.C:][:p.C]
			clear(d)
			for k := k0; k < k1; k++ {
				at := ((n*p.H+top+k*p.DilH)*p.W + left + t0*p.DilW) * p.C
				f(d, x[at:], t1-t0, p.C, p.DilW*p.C)
			}
			run2s(&scaleTab, d, d, p.weight(countPad, (k1-k0)*(t1-t0)), 0)
		}
	}
}

// AvgPoolGrad computes input rows [lo, hi) of the N·H rows of the gradient dx of an average pool.
func AvgPoolGrad(p *Pool, dx, dy []float32, countPad bool, lo, hi int) {
	oh, ow := p.OutH(), p.OutW()
	for r := lo; r < hi; r++ {
		n, ih := r/p.H, r%p.H
		row := dx[r*p.W*p.C:][:p.W*p.C]
		clear(row)
		for kh := p.KH - 1; kh >= 0; kh-- {
			at := ih + p.PadT - kh*p.DilH
			if at < 0 || at%p.StrideH != 0 || at/p.StrideH >= oh {
				continue
			}
			k0, k1 := taps(at-p.PadT, p.DilH, p.KH, p.H)
			for o := range ow {
				left := o*p.StrideW - p.PadL
				t0, t1 := taps(left, p.DilW, p.KW, p.W)
				w := p.weight(countPad, (k1-k0)*(t1-t0))
				g := dy[((n*oh+at/p.StrideH)*ow+o)*p.C:][:p.C]
				for t := t0; t < t1; t++ {
					Axpy(row[(left+t*p.DilW)*p.C:][:p.C], g, w)
				}
			}
		}
	}
}

// weight is one over the divisor of a window with count taps inside the input.
func (p *Pool) weight(countPad bool, count int) float32 {
	if countPad {
		count = p.KH * p.KW
	}
	return float32(1 / float64(count))
}

// repeat fills v with copies of its first n elements.
func repeat(v []float32, n int) {
	for n > 0 && n < len(v) {
		n += copy(v[n:], v[:n])
	}
}
