package vec

import "fmt"

// Pool is the geometry of a pooling window over an NHWC tensor. Stride and dilation are at least
// 1; padding may differ on each side.
type Pool struct {
	N, H, W, C             int
	KH, KW                 int
	StrideH, StrideW       int
	PadT, PadB, PadL, PadR int
	DilH, DilW             int
}

// Check says what is wrong with the geometry: sizes out of range, or a window with no element of
// the input in it.
func (p *Pool) Check() error {
	for _, d := range []struct {
		what     string
		got, min int
	}{
		{"batch", p.N, 0}, {"height", p.H, 1}, {"width", p.W, 1}, {"channels", p.C, 0},
		{"window height", p.KH, 1}, {"window width", p.KW, 1},
		{"row stride", p.StrideH, 1}, {"column stride", p.StrideW, 1},
		{"row dilation", p.DilH, 1}, {"column dilation", p.DilW, 1},
		{"top padding", p.PadT, 0}, {"bottom padding", p.PadB, 0},
		{"left padding", p.PadL, 0}, {"right padding", p.PadR, 0},
	} {
		if d.got < d.min || d.got > 1<<30 {
			return fmt.Errorf("pool: %s is %d, wants %d to %d", d.what, d.got, d.min, 1<<30)
		}
	}
	for _, axis := range []struct {
		what                          string
		in, k, stride, dil, pre, post int
	}{
		{"height", p.H, p.KH, p.StrideH, p.DilH, p.PadT, p.PadB},
		{"width", p.W, p.KW, p.StrideW, p.DilW, p.PadL, p.PadR},
	} {
		span := axis.in + axis.pre + axis.post - axis.dil*(axis.k-1) - 1
		if span < 0 {
			return fmt.Errorf("pool: window %d (dilation %d) is larger than the padded %s %d", axis.k, axis.dil, axis.what, axis.in+axis.pre+axis.post)
		}
		for o := range span/axis.stride + 1 {
			if lo, hi := taps(o*axis.stride-axis.pre, axis.dil, axis.k, axis.in); lo >= hi {
				return fmt.Errorf("pool: window %d of %s %d lies in the padding", o, axis.what, axis.in)
			}
		}
	}
	return nil
}

// OutH is the number of output rows of an image.
func (p *Pool) OutH() int { return (p.H+p.PadT+p.PadB-p.DilH*(p.KH-1)-1)/p.StrideH + 1 }

// OutW is the number of output pixels of a row.
func (p *Pool) OutW() int { return (p.W+p.PadL+p.PadR-p.DilW*(p.KW-1)-1)/p.StrideW + 1 }

// taps gives the range of k taps, dil apart, of a window starting at at that fall into [0, size).
func taps(at, dil, k, size int) (lo, hi int) {
	if at < 0 {
		lo = (-at + dil - 1) / dil
	}
	hi = k
	if last := size - 1 - at; last < 0 {
		hi = 0
	} else if last/dil+1 < k {
		hi = last/dil + 1
	}
	return min(lo, k), hi
}

// interior gives the range of output columns whose windows lie within the row.
func (p *Pool) interior() (lo, hi int) {
	lo = (p.PadL + p.StrideW - 1) / p.StrideW
	hi = p.OutW()
	if last := p.W - 1 - p.DilW*(p.KW-1) + p.PadL; last < 0 {
		hi = 0
	} else {
		hi = min(hi, last/p.StrideW+1)
	}
	return min(lo, hi), hi
}
