package vec

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fenced gives n floats that end, or begin, at a page that must not be touched, in memory of NaNs.
func fenced(t *testing.T, n int, atEnd bool) (x []float32, intact func() bool) {
	t.Helper()
	page := os.Getpagesize()
	inner := (4*n+page-1)/page*page + page
	mem, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	for _, edge := range [][]byte{mem[:page], mem[len(mem)-page:]} {
		if err := unix.Mprotect(edge, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	mem = mem[page : len(mem)-page]
	for i := range mem {
		mem[i] = 0xff
	}
	at := 0
	if atEnd {
		at = len(mem) - 4*n
	}
	x = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mem[at:]))), n)[:n:n]
	if n == 0 {
		x = nil
	}
	return x, func() bool {
		for i, b := range mem {
			if (i < at || i >= at+4*n) && b != 0xff {
				return false
			}
		}
		return true
	}
}

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

func TestStaysWithinItsOperands(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for n := range 140 {
			for _, atEnd := range []bool{false, true} {
				a, _ := fenced(t, n, atEnd)
				b, _ := fenced(t, n, atEnd)
				r, intact := fenced(t, n, atEnd)
				clear(a)
				clear(b)
				WeightedSum(r, a, b, 1, 2)
				if !WeightedMean(r, a, b, 1, 2, 3) || !Scaled(r, a, 1, 2) {
					t.Fatalf("%d elements: what lies beyond was taken for operands", n)
				}
				if !intact() {
					t.Fatalf("%d elements: wrote beyond the result", n)
				}
			}
		}
	})
}
