package vec

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomPool is a geometry with a window that fits.
func randomPool(rng *rand.Rand) Pool {
	for {
		p := Pool{N: 1 + rng.IntN(2), H: 1 + rng.IntN(9), W: 1 + rng.IntN(9), C: 1 + rng.IntN(40),
			KH: 1 + rng.IntN(3), KW: 1 + rng.IntN(3), StrideH: 1 + rng.IntN(3), StrideW: 1 + rng.IntN(3),
			PadT: rng.IntN(2), PadB: rng.IntN(2), PadL: rng.IntN(2), PadR: rng.IntN(2), DilH: 1 + rng.IntN(2), DilW: 1 + rng.IntN(2)}
		if rng.IntN(2) == 0 {
			p.C = 16 * (1 + rng.IntN(3))
		}
		if rng.IntN(3) == 0 { // the usual one
			p.H, p.W, p.KH, p.KW, p.StrideH, p.StrideW, p.DilH, p.DilW = 6, 8, 2, 2, 2, 2, 1, 1
			p.PadT, p.PadB, p.PadL, p.PadR = 0, 0, 0, 0
		}
		if p.Check() == nil {
			return p
		}
	}
}

// eachTap visits the taps inside the input of every output element.
func eachTap(p *Pool, f func(out, tap, in int)) {
	oh, ow := p.OutH(), p.OutW()
	for n := range p.N {
		for i := range oh {
			for j := range ow {
				for ch := range p.C {
					for a := range p.KH {
						for b := range p.KW {
							y, x := i*p.StrideH-p.PadT+a*p.DilH, j*p.StrideW-p.PadL+b*p.DilW
							if y >= 0 && y < p.H && x >= 0 && x < p.W {
								f(((n*oh+i)*ow+j)*p.C+ch, a*p.KW+b, ((n*p.H+y)*p.W+x)*p.C+ch)
							}
						}
					}
				}
			}
		}
	}
}

// ranges runs f over [0, n) in random pieces in random order.
func ranges(rng *rand.Rand, n int, f func(lo, hi int)) {
	var cuts [][2]int
	for lo := 0; lo < n; {
		hi := min(n, lo+1+rng.IntN(n))
		cuts = append(cuts, [2]int{lo, hi})
		lo = hi
	}
	rng.Shuffle(len(cuts), func(i, j int) { cuts[i], cuts[j] = cuts[j], cuts[i] })
	for _, c := range cuts {
		f(c[0], c[1])
	}
}

func TestMaxPool(t *testing.T) {
	f, fa, rng := fences(t, 4), newFence(t), newRand()
	eachLevel(t, func(t *testing.T) {
		for k := range 250 {
			p := randomPool(rng)
			in, out := p.N*p.H*p.W*p.C, p.N*p.OutH()*p.OutW()*p.C
			atEnd := k%2 == 0
			s := guarded(f, rng, atEnd, in, out, in, out)
			x, y, dx, dy := s[0], s[1], s[2], s[3]
			arg := cut[uint8](fa, out, atEnd)
			for range in / 10 { // ties
				x[rng.IntN(in)] = x[rng.IntN(in)]
			}
			if k%10 == 0 {
				x[rng.IntN(in)] = nan32
			}
			Fill(y, nan32)
			Fill(dx, nan32)
			ranges(rng, p.N*p.OutH(), func(lo, hi int) { MaxPool(&p, y, arg, x, lo, hi) })
			want, at, from := make([]float32, out), make([]int, out), make([]int, out)
			for i := range at {
				at[i] = -1
			}
			eachTap(&p, func(o, tap, i int) {
				if at[o] < 0 || x[i] > want[o] || x[i] != x[i] {
					want[o], at[o], from[o] = x[i], tap, i
				}
			})
			for o := range want {
				if (y[o] != want[o] && want[o] == want[o]) || int(arg[o]) != at[o] && want[o] == want[o] {
					t.Fatalf("%+v: output %d is %g of tap %d, want %g of %d", p, o, y[o], arg[o], want[o], at[o])
				}
				if want[o] != want[o] && y[o] == y[o] {
					t.Fatalf("%+v: output %d lost a NaN", p, o)
				}
			}
			if k%10 == 0 {
				continue
			}
			for _, mask := range [][]float32{nil, y} {
				ranges(rng, p.N*p.H, func(lo, hi int) { MaxPoolGrad(&p, dx, dy, arg, mask, lo, hi) })
				grad := make([]float64, in)
				for o, i := range from {
					if mask == nil || y[o] > 0 {
						grad[i] += float64(dy[o])
					}
				}
				for i := range grad {
					if !near(dx[i], grad[i], 1e-6, 4) {
						t.Fatalf("%+v: dx[%d] = %g, want %g", p, i, dx[i], grad[i])
					}
				}
			}
			checkIntact(t, f, atEnd, s)
			if !fa.intact(out, atEnd) {
				t.Fatalf("%+v: wrote outside arg", p)
			}
		}
	})
}

func TestAvgPool(t *testing.T) {
	f, rng := fences(t, 4), newRand()
	eachLevel(t, func(t *testing.T) {
		for k := range 150 {
			p := randomPool(rng)
			in, out := p.N*p.H*p.W*p.C, p.N*p.OutH()*p.OutW()*p.C
			countPad := rng.IntN(2) == 0
			s := guarded(f, rng, k%2 == 0, in, out, in, out)
			x, y, dx, dy := s[0], s[1], s[2], s[3]
			ranges(rng, p.N*p.OutH(), func(lo, hi int) { AvgPool(&p, y, x, countPad, lo, hi) })
			ranges(rng, p.N*p.H, func(lo, hi int) { AvgPoolGrad(&p, dx, dy, countPad, lo, hi) })
			count := make([]float64, out)
			eachTap(&p, func(o, _, _ int) { count[o]++ })
			if countPad {
				for o := range count {
					count[o] = float64(p.KH * p.KW)
				}
			}
			want, grad := make([]float64, out), make([]float64, in)
			eachTap(&p, func(o, _, i int) {
				want[o] += float64(x[i]) / count[o]
				grad[i] += float64(dy[o]) / count[o]
			})
			for o := range want {
				if !near(y[o], want[o], 1e-6, 4) {
					t.Fatalf("%+v countPad %v: y[%d] = %g, want %g", p, countPad, o, y[o], want[o])
				}
			}
			for i := range grad {
				if !near(dx[i], grad[i], 1e-6, 4) {
					t.Fatalf("%+v countPad %v: dx[%d] = %g, want %g", p, countPad, i, dx[i], grad[i])
				}
			}
			checkIntact(t, f, k%2 == 0, s)
		}
	})
}

func TestPoolCheck(t *testing.T) {
	good := Pool{N: 1, H: 4, W: 4, C: 3, KH: 2, KW: 2, StrideH: 2, StrideW: 2, DilH: 1, DilW: 1}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(p *Pool){
		"row stride":            func(p *Pool) { p.StrideH = 0 },
		"column dilation":       func(p *Pool) { p.DilW = 0 },
		"larger":                func(p *Pool) { p.KH = 5 },
		"left padding":          func(p *Pool) { p.PadL = -1 },
		"lies in the padding":   func(p *Pool) { p.PadT = 2 },
		"window 2 of width 4":   func(p *Pool) { p.PadR = 2 },
		"height is 2147483647,": func(p *Pool) { p.H = math.MaxInt32 },
	} {
		p := good
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: error %v does not say %q", p, err, what)
		}
	}
}

func TestPoolsAllocateNothing(t *testing.T) {
	p := Pool{N: 1, H: 9, W: 9, C: 20, KH: 3, KW: 3, StrideH: 2, StrideW: 2, PadT: 1, PadL: 1, DilH: 1, DilW: 1}
	in, out := p.N*p.H*p.W*p.C, p.N*p.OutH()*p.OutW()*p.C
	x, y, dx, dy, arg := make([]float32, in), make([]float32, out), make([]float32, in), make([]float32, out), make([]uint8, out)
	n := testing.AllocsPerRun(10, func() {
		MaxPool(&p, y, arg, x, 0, p.N*p.OutH())
		MaxPoolGrad(&p, dx, dy, arg, y, 0, p.N*p.H)
		AvgPool(&p, y, x, true, 0, p.N*p.OutH())
		AvgPoolGrad(&p, dx, dy, false, 0, p.N*p.H)
	})
	if n != 0 {
		t.Errorf("pools allocate %v times", n)
	}
}
