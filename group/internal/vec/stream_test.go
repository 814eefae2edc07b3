package vec

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestStream(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		from := make([]byte, 9*block)
		for i := range from {
			from[i] = byte(rng.Uint32())
		}
		for range 500 {
			n := rng.IntN(1000)
			if rng.IntN(10) == 0 {
				n = rng.IntN(8 * block)
			}
			a, b := rng.IntN(130), rng.IntN(130) // where they begin
			got := make([]byte, b+n+100)
			want := bytes.Clone(got)
			copy(want[b:], from[a:a+n])
			if Stream(got[b:b+n], from[a:]); !bytes.Equal(got, want) {
				t.Fatalf("%d bytes from place %d to %d were not copied, or others were", n, a, b)
			}
		}
	})
}

func TestStreamStaysWithinItsOperands(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for n := range 140 {
			for _, atEnd := range []bool{false, true} {
				from, _ := fenced(t, n, atEnd)
				to, intact := fenced(t, n, atEnd)
				clear(from)
				if Stream(bytesOf(to), bytesOf(from)); !intact() {
					t.Fatalf("%d elements: wrote beyond the copy", n)
				}
			}
		}
	})
}

func TestStreamDoesNotAllocate(t *testing.T) {
	to, from := make([]byte, 9*block+1), make([]byte, 9*block+1)
	if a := testing.AllocsPerRun(10, func() { Stream(to[1:], from[:9*block]) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
