package gemm

import "fmt"

// ConvShape is the shape of a two-dimensional convolution (a cross-correlation, as is usual in learning).
type ConvShape struct {
	N, H, W, C             int // input images [N][H][W][C]
	KH, KW, OC             int // filter [KH][KW][C/Groups][OC]
	StrideH, StrideW       int
	PadT, PadB, PadL, PadR int // zeros around the input
	DilH, DilW             int // distance of neighbouring taps; 1 is a dense filter
	Groups                 int // 1 is a full convolution, C a depthwise one
}

// OutH returns the height of the output images.
func (s ConvShape) OutH() int { return (s.H+s.PadT+s.PadB-s.DilH*(s.KH-1)-1)/s.StrideH + 1 }

// OutW returns the width of the output images.
func (s ConvShape) OutW() int { return (s.W+s.PadL+s.PadR-s.DilW*(s.KW-1)-1)/s.StrideW + 1 }

// String returns the shape as it stands in errors.
func (s ConvShape) String() string {
	return fmt.Sprintf("%d×%d×%d×%d * %d×%d→%d stride %d×%d pad %d,%d,%d,%d dilation %d×%d groups %d",
		s.N, s.H, s.W, s.C, s.KH, s.KW, s.OC, s.StrideH, s.StrideW, s.PadT, s.PadB, s.PadL, s.PadR, s.DilH, s.DilW,
		s.Groups)
}

// bad returns why the shape makes no sense, or "".
func (s ConvShape) bad() string {
	for _, d := range []int{s.N, s.H, s.W, s.C, s.KH, s.KW, s.OC, s.StrideH, s.StrideW, s.DilH, s.DilW, s.Groups} {
		if d < 1 || d > 1<<31-1 {
			return "a size, stride, dilation or group count is not positive or too large"
		}
	}
	for _, d := range []int{s.PadT, s.PadB, s.PadL, s.PadR} {
		if d < 0 || d > 1<<24 {
			return "a padding is negative or too large"
		}
	}
	switch {
	case s.C%s.Groups != 0:
		return "the groups do not divide the input channels"
	case s.OC%s.Groups != 0:
		return "the groups do not divide the output channels"
	case s.DilH*(s.KH-1) >= s.H+s.PadT+s.PadB:
		return "the filter is taller than the padded input"
	case s.DilW*(s.KW-1) >= s.W+s.PadL+s.PadR:
		return "the filter is wider than the padded input"
	case tooLarge(s.N, s.H+s.PadT+s.PadB, s.W+s.PadL+s.PadR, s.C), tooLarge(s.N, s.OutH(), s.OutW(), s.OC),
		tooLarge(s.KH, s.KW, s.C/s.Groups, s.OC):
		return "a tensor has more than 2³¹−1 elements"
	}
	return ""
}

// depthwise reports whether each channel is filtered on its own.
func (s ConvShape) depthwise() bool { return s.Groups > 1 && s.Groups == s.C && s.OC == s.C }

// pointwise reports whether the convolution is a matrix product of pixels and filter.
func (s ConvShape) pointwise() bool {
	return s.KH == 1 && s.KW == 1 && s.StrideH == 1 && s.StrideW == 1 && s.Groups == 1 &&
		s.PadT+s.PadB+s.PadL+s.PadR == 0
}

// Conv holds the plans of the three passes of a convolution.
type Conv struct {
	ConvShape
	// Forward computes Out = y [N][OutH][OutW][OC] from A = x and B = w.
	Forward *Plan
	// GradInput computes Out = dx [N][H][W][C] from A = dy and B = w.
	GradInput *Plan
	// GradFilter computes Out = dw [KH][KW][C/Groups][OC] from A = x and B = dy.
	GradFilter *Plan
}

// NewConv plans the three passes of a convolution.
func NewConv(s ConvShape) (*Conv, error) {
	if reason := s.bad(); reason != "" {
		return nil, &ShapeError{Op: "conv", Shape: s.String(), Reason: reason}
	}
	c := &Conv{ConvShape: s}
	if s.pointwise() {
		pixels := s.N * s.H * s.W
		c.Forward = newMatMul(pixels, s.OC, s.C, false, false).plan()
		c.GradInput = newMatMul(pixels, s.C, s.OC, false, true).plan()
		c.GradFilter = newMatMul(s.C, s.OC, pixels, true, false).plan()
		return c, nil
	}
	c.Forward = newForward(s).plan(s)
	c.GradInput = newGradInput(s).plan(s)
	c.GradFilter = newGradFilter(s).plan()
	return c, nil
}
