package oracle

import (
	"math"
	"testing"
)

// TestHalfRoundTrip decodes and encodes every half-precision number.
func TestHalfRoundTrip(t *testing.T) {
	for b := range 1 << 16 {
		x := fromHalf(uint16(b))
		if math.IsNaN(x) {
			if !math.IsNaN(fromHalf(toHalf(x))) {
				t.Fatalf("%#x is NaN and comes back as %v", b, fromHalf(toHalf(x)))
			}
			continue
		}
		if back := toHalf(x); back != uint16(b) {
			t.Fatalf("%#x is %v and comes back as %#x", b, x, back)
		}
		if roundHalf(x) != x {
			t.Fatalf("%v is rounded to %v", x, roundHalf(x))
		}
	}
}

// TestHalfRounding looks at the middle between every two neighbours, and just beside it.
func TestHalfRounding(t *testing.T) {
	for b := range uint16(0x7bff) {
		lo, hi := fromHalf(b), fromHalf(b+1)
		middle := (lo + hi) / 2
		even := lo
		if b%2 == 1 {
			even = hi
		}
		above := float64(math.Nextafter32(float32(middle), math.MaxFloat32))
		below := float64(math.Nextafter32(float32(middle), 0))
		if roundHalf(middle) != even || roundHalf(above) != hi || roundHalf(below) != lo || roundHalf(-above) != -hi {
			t.Fatalf("between %v and %v: middle %v, above %v, below %v", lo, hi, roundHalf(middle), roundHalf(above), roundHalf(below))
		}
	}
	for x, want := range map[float64]float64{65519.99: 65504, 65520: math.Inf(1), -1e9: math.Inf(-1), 0: 0} {
		if got := roundHalf(x); got != want {
			t.Errorf("%v is rounded to %v, want %v", x, got, want)
		}
	}
}

// TestBrainRounding compares with rounding the bit pattern.
func TestBrainRounding(t *testing.T) {
	for i := range 1 << 20 {
		bits := uint32(i)*4093 + 17
		x := math.Float32frombits(bits)
		if x != x || bits&0x7f800000 == 0 { // NaN and denormals go their own ways
			continue
		}
		rounded := bits + 0x7fff + bits>>16&1
		want := math.Float32frombits(rounded &^ 0xffff)
		if got := roundBrain(float64(x)); got != float64(want) {
			t.Fatalf("%v is rounded to %v, want %v", x, got, want)
		}
	}
}
