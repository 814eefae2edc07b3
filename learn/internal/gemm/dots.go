package gemm

import (
	"unsafe"

	"millrace.dev/internal/cpu"
)

// dots is the argument of a kernel that multiplies rows with rows: nt tiles, one after another, of
//
//	C[m,n] = (load ? C[m,n] : 0) + Σ_k A[m,k]·B[n,k]
//
// with k contiguous in both. The sum has dotLanes parts, of k modulo dotLanes, each in rising k; they are added in
// halves. Strides are in bytes. The offsets of the fields are known to _asm.
type dots struct {
	a, b, c     unsafe.Pointer
	am, bn, cm  int
	steps, tail int // k is steps·dotLanes + tail
	nt          int
	at, bt, ct  int // from tile to tile
	flags       int // flagLoad
}

const (
	dotLanes = 16
	// maxDotRows is the most rows of A for which dot products beat a transposition of B.
	maxDotRows = 20
	// minDotDepth and maxDotDepth bound k: a shorter one does not pay for the addition of the parts, a longer one
	// would keep the scheduler waiting.
	minDotDepth, maxDotDepth = 64, 1 << 14
	// maxDotFloats bounds the floats that one call reads, from memory at worst.
	maxDotFloats = 1 << 17
)

// dotsID is the number of the kernel with mr rows and nr columns.
func dotsID(mr, nr int) int { return nr*8 + mr }

// dotTile returns the rows of the tallest kernel of a level and the columns of a kernel with mr rows.
func dotTile(level cpu.Level, mr int) (most, nr int) {
	if level != cpu.AVX2 {
		return 4, 4
	}
	if mr == 1 {
		return 2, 4
	}
	return 2, 2
}

func runDots(level cpu.Level, id int, d *dots) {
	switch level {
	case cpu.AVX512:
		avx512Dots(id, d)
	case cpu.AVX2:
		avx2Dots(id, d)
	default:
		genericDots(id, d)
	}
}

// dotBlock is C[m×n] (+)= A·Bᵀ on rows of k floats.
type dotBlock struct {
	a, b, c    []float32
	m, n, k    int
	am, bn, cm int
	load       bool
}

func (p *dotBlock) run() {
	level := cpu.Current()
	d := dots{am: 4 * p.am, bn: 4 * p.bn, cm: 4 * p.cm, steps: p.k / dotLanes, tail: p.k % dotLanes}
	if p.load {
		d.flags = flagLoad
	}
	var buf [2]span
	most, _ := dotTile(level, 0)
	rows := splitRows(p.m, most, buf[:0])
	_, nr := dotTile(level, rows[0].size)
	if len(rows) == 1 && rows[0].count == 1 {
		p.call(level, &d, 0, p.m, 0, nr, p.n/nr, 0, nr)
		p.call(level, &d, 0, p.m, p.n/nr*nr, 1, p.n%nr, 0, 1)
		return
	}
	for n := 0; n < p.n; {
		if p.n-n < nr {
			nr = 1
		}
		for _, r := range rows {
			p.columns(level, &d, r, n, nr)
		}
		n += nr
	}
}

// columns computes nr columns of the rows of a span, in tiles that may be narrower than nr.
func (p *dotBlock) columns(level cpu.Level, d *dots, rows span, n, nr int) {
	if _, own := dotTile(level, rows.size); nr > 1 {
		for i := 0; i < nr; i += min(own, nr) {
			p.call(level, d, rows.at, rows.size, n+i, min(own, nr), rows.count, rows.size, 0)
		}
		return
	}
	p.call(level, d, rows.at, rows.size, n, 1, rows.count, rows.size, 0)
}

// call runs count tiles of mr×nr from (m, n), each rows and columns after the one before.
func (p *dotBlock) call(level cpu.Level, d *dots, m, mr, n, nr, count, rows, columns int) {
	most := max(1, maxDotFloats/((mr+nr)*p.k))
	d.at, d.bt, d.ct = rows*d.am, columns*d.bn, rows*d.cm+4*columns
	for count > 0 {
		d.nt = min(count, most)
		d.a, d.b, d.c = at(p.a, m*p.am), at(p.b, n*p.bn), at(p.c, m*p.cm+n)
		runDots(level, dotsID(mr, nr), d)
		count -= d.nt
		m += d.nt * rows
		n += d.nt * columns
	}
}

// genericDots is the kernel of every shape in plain Go.
func genericDots(id int, d *dots) {
	mr, nr := id%8, id/8
	k := d.steps*dotLanes + d.tail
	for i := range d.nt {
		for m := range mr {
			for n := range nr {
				sum := dotLaned(floats(d.a, i*d.at+m*d.am, k), floats(d.b, i*d.bt+n*d.bn, k))
				c := &floats(d.c, i*d.ct+m*d.cm+4*n, 1)[0]
				if d.flags&flagLoad != 0 {
					sum += *c
				}
				*c = sum
			}
		}
	}
}

// dotLaned sums products in dotLanes parts and adds these in halves.
func dotLaned(x, y []float32) float32 {
	var s [dotLanes]float32
	for len(x) >= dotLanes {
		a, b := (*[dotLanes]float32)(x), (*[dotLanes]float32)(y)
		for l := range s {
			s[l] += float32(a[l] * b[l])
		}
		x, y = x[dotLanes:], y[dotLanes:]
	}
	for l := range x {
		s[l] += float32(x[l] * y[l])
	}
	for l := range 8 {
		s[l] += s[l+8]
	}
	for l := range 4 {
		s[l] += s[l+4]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
