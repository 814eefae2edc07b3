package vec

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/cpu"
)

// fence is memory between two pages that must not be touched: a read or write beyond it faults.
type fence struct{ mem []byte }

const fencePages = 48

func newFence(t testing.TB) *fence {
	t.Helper()
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, (fencePages+2)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	for _, edge := range [][]byte{mem[:page], mem[len(mem)-page:]} {
		if err := unix.Mprotect(edge, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return &fence{mem[page : len(mem)-page]}
}

// canary fills memory around a slice; as a float32 it is NaN.
const canary = 0xff

// cut gives n elements at the end of the memory, or at its start, and fills the rest with canaries.
func cut[T any](f *fence, n int, atEnd bool) []T {
	var z T
	size := n * int(unsafe.Sizeof(z))
	near := f.mem[:min(len(f.mem), size+256)]
	at := 0
	if atEnd {
		near = f.mem[len(f.mem)-len(near):]
		at = len(near) - size
	}
	for i := range near {
		near[i] = canary
	}
	if n == 0 {
		return []T{}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&near[at])), n)
}

// intact reports whether the canaries beside the last cut of size bytes are untouched.
func (f *fence) intact(size int, atEnd bool) bool {
	beside := f.mem[size:min(len(f.mem), size+256)]
	if atEnd {
		end := len(f.mem) - size
		beside = f.mem[max(0, end-256):end]
	}
	for _, b := range beside {
		if b != canary {
			return false
		}
	}
	return true
}

// eachLevel runs a test at every level of the machine.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range cpu.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpu.Set(l)()
			f(t)
		})
	}
}

// lengths are all tails, and ranges longer than a block; a short test takes fewer.
func lengths() []int {
	n := []int{block + 17, 1000}
	for i := range 68 {
		if !testing.Short() || i < 36 {
			n = append(n, i)
		}
	}
	return n
}

// random fills x with normal numbers.
func random(rng *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// ulps is the distance of got from want in units in the last place of want as a float32.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case math.IsNaN(want) && got != got, got == w:
		return 0
	case got-got != 0 || math.IsNaN(want) || w-w != 0:
		return math.Inf(1)
	}
	e := math.Max(math.Abs(want), minNorm)
	unit := math.Ldexp(1, math.Ilogb(e)-23)
	return math.Abs(float64(got)-want) / unit
}

// near reports whether got is want up to a relative error tol of scale.
func near(got float32, want, tol, scale float64) bool {
	if math.IsNaN(want) {
		return got != got
	}
	if math.IsInf(want, 0) {
		return float64(got) == want
	}
	return math.Abs(float64(got)-want) <= tol*math.Max(scale, math.Abs(want))+minNorm
}

// equalBits reports the first element where two results differ in a bit, -1 when none does; NaNs
// are equal.
func equalBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && (a[i] == a[i] || b[i] == b[i]) {
			return i
		}
	}
	return -1
}
