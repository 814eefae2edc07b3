//go:build unix

package gemm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/cpu"
)

// fence hands out float slices between two pages that must not be touched.
type fence struct {
	t     *testing.T
	pages [][]byte
}

// floats returns n floats of which the last ends at an inaccessible page, or, with low, the first begins after one.
// A kernel that reads or writes past that end crashes the test.
func (f *fence) floats(n int, low bool) []float32 {
	f.t.Helper()
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		f.t.Fatal(err)
	}
	f.pages = append(f.pages, mem)
	for _, guard := range [][]byte{mem[:page], mem[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			f.t.Fatal(err)
		}
	}
	if n == 0 {
		return nil
	}
	at := page
	if !low {
		at += size - 4*n
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&mem[at])), n)
}

// random returns fenced floats with random contents.
func (f *fence) random(rng *rand.Rand, n int, low bool) []float32 {
	s := f.floats(n, low)
	copy(s, random(rng, n))
	return s
}

func (f *fence) close() {
	for _, p := range f.pages {
		if err := unix.Munmap(p); err != nil {
			f.t.Error(err)
		}
	}
	f.pages = nil
}

// TestFence checks that the fence itself gives all of its floats.
func TestFence(t *testing.T) {
	f := &fence{t: t}
	defer f.close()
	for _, low := range []bool{false, true} {
		s := f.floats(1030, low)
		for i := range s {
			s[i] = 1
		}
	}
}

// TestTilesBetweenGuards runs every kernel with every number of lanes in the last vector.
func TestTilesBetweenGuards(t *testing.T) {
	for _, level := range cpu.Levels() {
		f := families[level]
		for nv, most := range f.rows {
			for mr := 1; mr <= most; mr++ {
				testTile(t, level, mr, nv, false)
			}
		}
		for nv, most := range f.lane {
			for mr := 1; mr <= most; mr++ {
				testTile(t, level, mr, nv, true)
			}
		}
	}
}

func testTile(t *testing.T, level cpu.Level, mr, nv int, lane bool) {
	t.Helper()
	lanes := families[level].lanes
	rng := rand.New(rand.NewPCG(uint64(mr), uint64(nv)))
	for last := 1; last <= lanes; last++ {
		f := &fence{t: t}
		runTileBetweenGuards(t, f, rng, level, mr, nv, last, lane, last%2 == 0)
		f.close()
	}
}

func runTileBetweenGuards(t *testing.T, f *fence, rng *rand.Rand, level cpu.Level, mr, nv, last int, lane, low bool) {
	t.Helper()
	n := (nv-1)*families[level].lanes + last
	nj, nk, nt := 1+rng.IntN(3), 1+rng.IntN(5), 1+rng.IntN(2)
	wide := 1 // floats of A for each k
	if lane {
		wide = n
	}
	a := f.random(rng, nt*mr*nj*nk*wide, low)
	b := f.random(rng, nj*nk*n, low)
	c := f.random(rng, nt*mr*n, low)
	bias, res, mask := f.random(rng, n, low), f.random(rng, len(c), low), f.random(rng, len(c), low)
	tl := tile{
		a: at(a, 0), b: at(b, 0), c: at(c, 0),
		am: 4 * nj * nk * wide, ak: 4 * wide, bk: 4 * n, cm: 4 * n, nk: nk, nj: nj, nt: nt,
		at: 4 * mr * nj * nk * wide, ct: 4 * mr * n, lanes: last, flags: rng.IntN(4),
		next: uintptr(at(c, 0)),
	}
	e := Epilogue{Accumulate: tl.flags&flagLoad != 0, ReLU: tl.flags&flagReLU != 0}
	if rng.IntN(2) == 0 {
		tl.bias, e.Bias = at(bias, 0), bias
	}
	if rng.IntN(2) == 0 {
		tl.res, e.Residual = at(res, 0), res
	}
	if rng.IntN(2) == 0 {
		tl.mask, e.Mask = at(mask, 0), mask
	}
	ref := newReference(len(c))
	for m := range nt * mr {
		for k := range nj * nk {
			for i := range n {
				if lane {
					ref.add(m*n+i, a[(m*nj*nk+k)*n+i], b[k*n+i])
				} else {
					ref.add(m*n+i, a[m*nj*nk+k], b[k*n+i])
				}
			}
		}
	}
	ref.apply(e, c, n)
	id := tileID(mr, nv)
	if lane {
		id |= laneID
	}
	runTile(level, id, &tl)
	ref.check(t, fmt.Sprintf("%v tile %d×%d, last vector %d, lane %v", level, mr, nv, last, lane), c, nj*nk)
}

// TestDotsBetweenGuards runs every kernel of dot products with every rest of k.
func TestDotsBetweenGuards(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, level := range cpu.Levels() {
		for k := 1; k <= 3*dotLanes; k++ {
			for m := 1; m <= 9; m++ {
				f := &fence{t: t}
				n, low := 1+rng.IntN(10), rng.IntN(2) == 0
				p := dotBlock{
					a: f.random(rng, m*k, low), b: f.random(rng, n*k, low), c: f.random(rng, m*n, low),
					m: m, n: n, k: k, am: k, bn: k, cm: n, load: rng.IntN(2) == 0,
				}
				ref := matmulReference(m, n, k, p.a, p.b)
				ref.apply(Epilogue{Accumulate: p.load}, p.c, n)
				restore := cpu.Set(level)
				p.run()
				restore()
				ref.check(t, fmt.Sprintf("%v dots %d×%d×%d", level, m, n, k), p.c, k)
				f.close()
			}
		}
	}
}

// TestPackBetweenGuards packs matrices of every width up to a panel.
func TestPackBetweenGuards(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, level := range cpu.Levels() {
		restore := cpu.Set(level)
		for n := 1; n <= panel; n++ {
			for _, k := range []int{1, 2, 7, 8, 9, 16, 29, 33} {
				f := &fence{t: t}
				stride := n + rng.IntN(4)
				src := f.random(rng, (k-1)*stride+n, k%2 == 0)
				aligned := f.floats((k-1)*panel+n, k%2 == 0)
				odd := f.floats(len(aligned)+1, k%2 == 0)[1-k%2:][:len(aligned)]
				for _, pack := range []struct {
					name string
					dst  []float32
					run  func(dst, src []float32, n, k, stride int)
				}{{"packRows", aligned, packRows}, {"streamRows", aligned, streamRows}, {"streamRows, odd", odd, streamRows}} {
					clear(pack.dst)
					pack.run(pack.dst, src, n, k, stride)
					for i := range k {
						for j := range n {
							if pack.dst[i*panel+j] != src[i*stride+j] {
								t.Fatalf("%v %s n=%d k=%d: wrong at %d, %d", level, pack.name, n, k, i, j)
							}
						}
					}
				}
				stride = k + rng.IntN(4)
				src = f.random(rng, (n-1)*stride+k, k%2 == 0)
				dst := f.floats(k*n, k%2 == 0)
				packTransposed(dst, src, n, k, stride, n)
				for i := range k {
					for j := range n {
						if dst[i*n+j] != src[j*stride+i] {
							t.Fatalf("%v packTransposed n=%d k=%d: wrong at %d, %d", level, n, k, i, j)
						}
					}
				}
				f.close()
			}
		}
		restore()
	}
}

// TestPlansBetweenGuards runs whole plans on fenced tensors and scratch.
func TestPlansBetweenGuards(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		n := 40
		if testing.Short() {
			n = 10
		}
		for range n {
			p, err := NewMatMul(1+rng.IntN(70), 1+rng.IntN(300), 1+rng.IntN(90), rng.IntN(2) == 0, rng.IntN(2) == 0)
			if err != nil {
				t.Fatal(err)
			}
			runFenced(t, rng, p)
			c, err := NewConv(randomShape(rng))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []*Plan{c.Forward, c.GradInput, c.GradFilter} {
				runFenced(t, rng, p)
			}
		}
	})
}

func runFenced(t *testing.T, rng *rand.Rand, p *Plan) {
	t.Helper()
	f := &fence{t: t}
	defer f.close()
	low := rng.IntN(2) == 0
	args := &Args{Out: f.floats(p.out, low), A: f.random(rng, p.a, low), B: f.random(rng, p.b, low), Shared: f.floats(p.Shared(), low)}
	args.Bias, args.Residual, args.Mask = f.random(rng, p.cols, low), f.random(rng, p.out, low), f.random(rng, p.out, low)
	worker := f.floats(p.Worker(), low)
	for ph := range p.Phases() {
		for c := range p.Chunks(ph) {
			p.Run(ph, c, args, worker)
		}
	}
}
