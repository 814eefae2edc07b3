package collective

import (
	"math"
	"testing"
)

func TestHalves(t *testing.T) {
	for _, typ := range []struct {
		name string
		from func(uint16) float32
		to   func(float32) uint16
		max  float64
		inf  uint16
	}{
		{"float16", fromFloat16, toFloat16, 65504, 0x7c00},
		{"bfloat16", fromBFloat16, toBFloat16, 0x1.fep127, 0x7f80},
	} {
		for i := range 1 << 16 {
			h := uint16(i)
			f := typ.from(h)
			if f != f {
				if back := typ.from(typ.to(f)); back == back {
					t.Fatalf("%s: NaN %04x becomes %g", typ.name, h, back)
				}
				continue
			}
			if back := typ.to(f); back != h {
				t.Fatalf("%s: %04x is %g, which becomes %04x", typ.name, h, f, back)
			}
			// Halfway to the next value rounds to the even one, and what is beside to the nearer one.
			if h&0x7fff >= typ.inf-1 {
				continue
			}
			next := typ.from(h + 1)
			mid := float32((float64(f) + float64(next)) / 2)
			even := h + h&1
			if got := typ.to(mid); got != even {
				t.Fatalf("%s: %g between %04x and %04x becomes %04x", typ.name, mid, h, h+1, got)
			}
			if a, b := typ.to(math.Nextafter32(mid, f)), typ.to(math.Nextafter32(mid, next)); a != h || b != h+1 {
				t.Fatalf("%s: beside %g: %04x, %04x", typ.name, mid, a, b)
			}
		}
		over := float32(typ.max * (1 + 1.0/64))
		if got := typ.to(over); got != typ.inf || typ.to(-over) != typ.inf|0x8000 {
			t.Errorf("%s: %g becomes %04x", typ.name, over, got)
		}
	}
}

// reference checks combine and finish of one type against plain expressions.
func reference[T Number](t *testing.T, a, b []T, mean func(x T, n int) T) {
	t.Helper()
	dst := make([]T, len(a))
	for op, want := range map[Op]func(x, y T) T{
		Sum: func(x, y T) T { return x + y },
		Min: func(x, y T) T { return min(x, y) },
		Max: func(x, y T) T { return max(x, y) },
	} {
		typ := typeOf[T]()
		combine(typ, op, Of(dst).bytes, Of(a).bytes, Of(b).bytes)
		for i := range dst {
			if w := want(a[i], b[i]); dst[i] != w && (dst[i] == dst[i] || w == w) {
				t.Errorf("%v of %v and %v is %v, want %v", op, a[i], b[i], dst[i], w)
			}
		}
	}
	copy(dst, a)
	finish(typeOf[T](), Mean, Of(dst).bytes, 3, 0)
	for i := range dst {
		if w := mean(a[i], 3); dst[i] != w && (dst[i] == dst[i] || w == w) {
			t.Errorf("%v of three is %v, want %v", a[i], dst[i], w)
		}
	}
}

func TestArithmetic(t *testing.T) {
	reference(t, []int8{1, -128, 127, -7}, []int8{2, -1, 1, 7}, func(x int8, n int) int8 { return int8(int(x) / n) })
	reference(t, []int16{1, -32768, 32767, -7}, []int16{2, -1, 1, 7}, func(x int16, n int) int16 { return x / int16(n) })
	reference(t, []int32{1, math.MinInt32, -7}, []int32{2, -1, 7}, func(x int32, n int) int32 { return x / int32(n) })
	reference(t, []int64{1, math.MinInt64, -7}, []int64{2, -1, 7}, func(x int64, n int) int64 { return x / int64(n) })
	reference(t, []uint8{1, 255, 128}, []uint8{2, 255, 7}, func(x uint8, n int) uint8 { return x / uint8(n) })
	reference(t, []uint16{1, 65535}, []uint16{2, 65535}, func(x uint16, n int) uint16 { return x / uint16(n) })
	reference(t, []uint32{1, math.MaxUint32}, []uint32{2, 9}, func(x uint32, n int) uint32 { return x / uint32(n) })
	reference(t, []uint64{1, math.MaxUint64}, []uint64{2, 9}, func(x uint64, n int) uint64 { return x / uint64(n) })
	inf, nan := math.Inf(1), math.NaN()
	reference(t, []float64{1.5, inf, nan, 1e308}, []float64{2.25, -inf, 1, 1e308}, func(x float64, n int) float64 { return x * (1 / float64(n)) })
	reference(t, []float32{1.5, float32(inf), float32(nan), 3e38}, []float32{2.25, float32(-inf), 1, 3e38},
		func(x float32, n int) float32 { return x * float32(1/float64(n)) })
}
