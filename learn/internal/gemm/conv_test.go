package gemm

import (
	"math/rand/v2"
	"testing"
)

// convReference computes the three passes from their definitions.
func convReference(s ConvShape, x, w, dy []float32) (y, dx, dw *reference) {
	oh, ow := s.OutH(), s.OutW()
	gc, go_ := s.C/s.Groups, s.OC/s.Groups
	y, dx, dw = newReference(s.N*oh*ow*s.OC), newReference(len(x)), newReference(len(w))
	for n := range s.N {
		for i := range oh {
			for j := range ow {
				for kh := range s.KH {
					for kw := range s.KW {
						a, b := i*s.StrideH-s.PadT+kh*s.DilH, j*s.StrideW-s.PadL+kw*s.DilW
						if a < 0 || a >= s.H || b < 0 || b >= s.W {
							continue
						}
						for o := range s.OC {
							for c := range gc {
								xi := ((n*s.H+a)*s.W+b)*s.C + o/go_*gc + c
								wi := ((kh*s.KW+kw)*gc+c)*s.OC + o
								yi := ((n*oh+i)*ow+j)*s.OC + o
								y.add(yi, x[xi], w[wi])
								dx.add(xi, dy[yi], w[wi])
								dw.add(wi, x[xi], dy[yi])
							}
						}
					}
				}
			}
		}
	}
	return y, dx, dw
}

func checkConv(t *testing.T, rng *rand.Rand, s ConvShape) {
	t.Helper()
	c, err := NewConv(s)
	if err != nil {
		t.Fatal(err)
	}
	x := random(rng, s.N*s.H*s.W*s.C)
	w := random(rng, s.KH*s.KW*s.C/s.Groups*s.OC)
	dy := random(rng, s.N*s.OutH()*s.OutW()*s.OC)
	y, dx, dw := convReference(s, x, w, dy)
	pass := func(name string, p *Plan, exact *reference, a, b []float32, terms int) {
		t.Helper()
		args := &Args{A: a, B: b, Epilogue: randomEpilogue(rng, p.out, p.cols)}
		checkLevels(t, rng, name+" "+s.String(), p, args, random(rng, p.out), exact, terms)
	}
	pass("forward", c.Forward, y, x, w, s.KH*s.KW*s.C)
	pass("input gradient", c.GradInput, dx, dy, w, s.KH*s.KW*s.OC)
	pass("filter gradient", c.GradFilter, dw, x, dy, s.N*s.OutH()*s.OutW())
}

func randomShape(rng *rand.Rand) ConvShape {
	for {
		s := ConvShape{
			N: 1 + rng.IntN(3), H: 1 + rng.IntN(12), W: 1 + rng.IntN(20), KH: 1 + rng.IntN(4), KW: 1 + rng.IntN(4),
			StrideH: 1 + rng.IntN(3), StrideW: 1 + rng.IntN(3), PadT: rng.IntN(4), PadB: rng.IntN(4), PadL: rng.IntN(4),
			PadR: rng.IntN(4), DilH: 1, DilW: 1, Groups: 1, C: 1 + rng.IntN(40), OC: 1 + rng.IntN(70),
		}
		switch rng.IntN(4) {
		case 0:
			s.DilH, s.DilW = 1+rng.IntN(3), 1+rng.IntN(3)
		case 1:
			s.Groups = 1 + rng.IntN(4)
			s.C, s.OC = s.Groups*(1+rng.IntN(9)), s.Groups*(1+rng.IntN(9))
		case 2:
			s.Groups, s.OC = s.C, s.C
		}
		if s.bad() == "" {
			return s
		}
	}
}

func TestConvRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	n := 300
	if testing.Short() {
		n = 60
	}
	for range n {
		checkConv(t, rng, randomShape(rng))
	}
}

func square(n, size, c, k, oc, stride, pad int) ConvShape {
	return ConvShape{N: n, H: size, W: size, C: c, KH: k, KW: k, OC: oc, StrideH: stride, StrideW: stride,
		PadT: pad, PadB: pad, PadL: pad, PadR: pad, DilH: 1, DilW: 1, Groups: 1}
}

func depthwise(n, size, c int) ConvShape {
	s := square(n, size, c, 3, c, 1, 1)
	s.Groups = c
	return s
}

func TestConvLayers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, s := range []ConvShape{
		square(2, 28, 1, 5, 32, 1, 2), square(1, 14, 32, 5, 64, 1, 2), square(1, 32, 16, 3, 16, 1, 1),
		square(1, 32, 16, 3, 32, 2, 1), square(1, 32, 16, 1, 32, 2, 0), square(2, 8, 64, 3, 64, 1, 1),
		square(2, 8, 64, 1, 16, 1, 0), square(1, 30, 3, 7, 20, 2, 3), square(1, 5, 300, 3, 40, 1, 1),
		square(9, 30, 3, 3, 30, 1, 1), square(1, 5, 140, 3, 120, 1, 1), square(1, 5, 150, 3, 100, 2, 1),
	} {
		checkConv(t, rng, s)
	}
}
