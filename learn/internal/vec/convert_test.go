package vec

import (
	"math"
	"testing"
)

// TestFloat16 walks all 2¹⁶ halves and the numbers between them.
func TestFloat16(t *testing.T) {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	eachLevel(t, func(t *testing.T) {
		wide, back := make([]float32, len(all)), make([]uint16, len(all))
		FromFloat16(wide, all)
		ToFloat16(back, wide)
		for i, h := range all {
			exp, frac := int(h>>10&31), float64(h&0x3ff)
			want := math.Ldexp(1+frac/1024, exp-15)
			switch {
			case exp == 0:
				want = math.Ldexp(frac, -24)
			case exp == 31 && frac == 0:
				want = math.Inf(1)
			case exp == 31:
				want = math.NaN()
			}
			if h>>15 == 1 {
				want = -want
			}
			if float64(wide[i]) != want && want == want || want != want && wide[i] == wide[i] {
				t.Fatalf("half %#04x is %g, want %g", h, wide[i], want)
			}
			if wantBack := h | uint16(bit(want != want))<<9; back[i] != wantBack {
				t.Fatalf("half %#04x comes back as %#04x", h, back[i])
			}
		}
		// Between neighbours: below the middle down, above it up, at it to the even one.
		for h := uint16(0); h < 0x7bff; h++ {
			lo, hi := wide[h], wide[h+1]
			mid := (float64(lo) + float64(hi)) / 2
			x := []float32{math.Nextafter32(float32(mid), 0), float32(mid), math.Nextafter32(float32(mid), 2*hi)}
			x = append(x, -x[0], -x[1], -x[2])
			got, even := make([]uint16, 6), h+h&1
			ToFloat16(got, x)
			for i, want := range []uint16{h, even, h + 1} {
				if got[i] != want || got[i+3] != want|0x8000 {
					t.Fatalf("%g rounds to %#04x and %#04x, want %#04x", x[i], got[i], got[i+3], want)
				}
			}
		}
		got := make([]uint16, 3)
		ToFloat16(got, []float32{65519.996, 65520, 3e38})
		if got[0] != 0x7bff || got[1] != 0x7c00 || got[2] != 0x7c00 {
			t.Errorf("the largest halves are %#04x", got)
		}
	})
}

func TestBFloat16(t *testing.T) {
	rng := newRand()
	eachLevel(t, func(t *testing.T) {
		x, h, back := make([]float32, 10000), make([]uint16, 10000), make([]float32, 10000)
		for i := range x {
			x[i] = math.Float32frombits(rng.Uint32())
		}
		copy(x, []float32{inf32, -inf32, nan32, 0, math.MaxFloat32, math.Float32frombits(0x7f800001), math.Float32frombits(0x3f808000), math.Float32frombits(0x3f818000)})
		ToBFloat16(h, x)
		FromBFloat16(back, h)
		for i, v := range x {
			b := math.Float32bits(v)
			want := uint16(b >> 16)
			if rest := b & 0xffff; rest > 0x8000 || rest == 0x8000 && want&1 == 1 {
				want++
			}
			if v != v {
				if back[i] == back[i] {
					t.Fatalf("NaN %#x becomes %g", b, back[i])
				}
				continue
			}
			if h[i] != want || math.Float32bits(back[i]) != uint32(want)<<16 {
				t.Fatalf("%g (%#x) rounds to %#04x, want %#04x", v, b, h[i], want)
			}
		}
	})
}

// TestConversionTails: every length, between guard pages.
func TestConversionTails(t *testing.T) {
	f, g, rng := newFence(t), newFence(t), newRand()
	eachLevel(t, func(t *testing.T) {
		for _, n := range lengths() {
			atEnd := n%2 == 0
			x, h := cut[float32](f, n, atEnd), cut[uint16](g, n, atEnd)
			random(rng, x)
			for _, c := range []struct {
				to   func([]uint16, []float32)
				from func([]float32, []uint16)
				tol  float64
			}{{ToFloat16, FromFloat16, 0x1p-11}, {ToBFloat16, FromBFloat16, 0x1p-8}} {
				keep := append([]float32(nil), x...)
				c.to(h, x)
				c.from(x, h)
				for i := range x {
					if !near(x[i], float64(keep[i]), c.tol, 1e-3) {
						t.Fatalf("n = %d: %g comes back as %g", n, keep[i], x[i])
					}
				}
				copy(x, keep)
			}
			if !f.intact(4*n, atEnd) || !g.intact(2*n, atEnd) {
				t.Fatalf("n = %d: wrote outside", n)
			}
		}
	})
}
