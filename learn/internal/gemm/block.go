package gemm

import (
	"unsafe"

	"millrace.dev/internal/cpu"
)

const (
	// panel is the number of columns of a packed panel of B.
	panel = 32
	// maxDepth bounds j·k of one pass over C, so that a column panel of B stays in the second-level cache.
	maxDepth = 1024
	// maxCall bounds the multiply-adds of one call into assembly, which the scheduler cannot interrupt.
	maxCall = 1 << 19
	minWork = 16
	minRows = 16
	// residentB is how many floats of a column panel of B may stay in the first-level cache beside A and C.
	residentB = 4096
	// residentL2 is how many floats of B a pass over the rows may reuse from the second-level cache.
	residentL2 = 64 << 10
)

// block is a block of C of any size and its operands: for r < rows, m < m, n < n
//
//	C[r·cr + m·cm + n] (+)= Σ_{j<nj} Σ_{k<nk} A[r·ar + m·am + j·aj + k·ak] · B[j·bj + k·bk + column(n)]
//
// column(n) is n/32·bp + n%32: bp is 32 for a plain B, and the size of a panel for a packed one. A lane block has
// A[… + n] instead. Strides are in floats.
type block struct {
	a, b, c         unsafe.Pointer
	bias, res, mask unsafe.Pointer
	rows, ar, cr    int
	m, am, cm       int
	n, bp           int
	nk, ak, bk      int
	nj, aj, bj      int
	load, relu      bool
	lane            bool
	// next is what will be needed soon: a row of nextLines cache lines for each k, nextRow floats apart. The tiles
	// request it from memory on their way.
	next               uintptr
	nextLines, nextRow int
}

// epilogue sets what happens to C, which starts at element c of Out and column n.
func (b *block) epilogue(args *Args, c, n int) {
	b.c = at(args.Out, c-args.Lo)
	b.bias, b.res, b.mask = at(args.Bias, n), at(args.Residual, c), at(args.Mask, c)
	b.load, b.relu = args.Accumulate, args.ReLU
}

// part makes the block one of several steps along k: only the first starts as C says, only the last has an epilogue.
func (b *block) part(first, last bool) {
	b.load = b.load || !first
	if !last {
		b.relu, b.bias, b.res, b.mask = false, nil, nil, nil
	}
}

// moveC moves C, and what has its layout, n floats on.
func (b *block) moveC(n int) {
	b.c, b.res, b.mask = offset(b.c, n), offset(b.res, n), offset(b.mask, n)
}

// run computes the block, in passes over C that keep a part of B in the second-level cache.
func (b *block) run() {
	level := cpu.Current()
	depth := min(b.nj*b.nk, maxDepth)
	columns := b.n
	if b.rows*b.m > 16 && depth*b.n > residentL2 {
		columns = max(residentL2/depth/panel, 2) * panel
	}
	for n := 0; n < b.n; n += columns {
		b.passes(level, n, min(columns, b.n-n))
	}
}

// passes computes columns [n0, n0+n) in as few steps along k as maxDepth allows.
func (b *block) passes(level cpu.Level, n0, n int) {
	p := pass{block: b, level: level, n0: n0, n: n, nj: b.nj, nk: b.nk, load: b.load, last: true}
	if b.nj*b.nk <= maxDepth {
		p.run()
		return
	}
	stepJ, stepK := max(maxDepth/b.nk, 1), min(b.nk, maxDepth)
	for j := 0; j < b.nj; j += stepJ {
		for k := 0; k < b.nk; k += stepK {
			p.j0, p.nj = j, min(stepJ, b.nj-j)
			p.k0, p.nk = k, min(stepK, b.nk-k)
			p.last = j+p.nj == b.nj && k+p.nk == b.nk
			p.run()
			p.load = true
		}
	}
}

// pass is the part of a block that one sweep over its tiles computes.
type pass struct {
	*block
	level      cpu.Level
	n0, n      int
	j0, nj     int
	k0, nk     int
	load, last bool // start from C; apply the epilogue
	requested  int  // lines of each row of next
	t          tile
}

// run chooses which operand stays in the first-level cache: a panel of B if it is short enough, else rows of A.
func (p *pass) run() {
	f := &families[p.level]
	p.prepare()
	var columnBuf [8]columnSpan
	var rowBuf [2]span
	columns := p.columnSpans(f, columnBuf[:0])
	if p.nj*p.nk*columns[0].size*f.lanes > residentB {
		for r := range p.rows {
			p.keepA(f, r, columns, rowBuf[:0])
		}
		return
	}
	for _, col := range columns {
		p.keepB(f, col, rowBuf[:0])
	}
}

// prepare fills what all tiles have in common.
func (p *pass) prepare() {
	b := p.block
	t := &p.t
	t.am, t.ak, t.aj = 4*b.am, 4*b.ak, 4*(b.aj-p.nk*b.ak)
	t.bk, t.bj, t.cm = 4*b.bk, 4*(b.bj-p.nk*b.bk), 4*b.cm
	t.nk, t.nj, t.flags = p.nk, p.nj, 0
	if p.nk == 0 {
		t.nj = 0
	}
	if p.load {
		t.flags |= flagLoad
	}
	if p.last && b.relu {
		t.flags |= flagReLU
	}
}

// keepA runs the tiles of row r so that the rows of A stay in the first-level cache while B streams.
func (p *pass) keepA(f *family, r int, columns []columnSpan, buf []span) {
	// Every span of columns has its own height of tiles; the first, the widest, leads.
	for _, rows := range splitRows(p.m, p.maxRows(f, columns[0].size), buf) {
		for i := range rows.count {
			m := rows.at + i*rows.size
			for _, col := range columns {
				p.call(r, m, rows.size, col, col.count, 0, col.bt, col.ct, col.ct)
			}
		}
	}
}

// keepB runs the tiles of a span of columns so that each panel of B stays in the first-level cache.
func (p *pass) keepB(f *family, col columnSpan, buf []span) {
	spans := splitRows(p.m, p.maxRows(f, col.size), buf)
	one := col
	for i := range col.count {
		one.at = col.at + i*col.ct
		for _, rows := range spans {
			if p.rows == 1 {
				p.call(0, rows.at, rows.size, one, rows.count, rows.size*p.am, 0, rows.size*p.cm, 0)
				continue
			}
			for j := range rows.count {
				p.call(0, rows.at+j*rows.size, rows.size, one, p.rows, p.ar, 0, p.cr, 0)
			}
		}
	}
}

// call runs count tiles that begin at row (r, m) and the first column of col.
func (p *pass) call(r, m, mr int, col columnSpan, count, at, bt, ct, biasTiles int) {
	b := p.block
	t := &p.t
	n := p.n0 + col.at
	aOff := r*b.ar + m*b.am + p.j0*b.aj + p.k0*b.ak
	if b.lane {
		aOff += n
		at += bt
	}
	bOff := n/panel*b.bp + n%panel + p.j0*b.bj + p.k0*b.bk
	cOff := r*b.cr + m*b.cm + n
	t.at, t.bt, t.ct, t.biasTiles = 4*at, 4*bt, 4*ct, 4*biasTiles
	t.lanes = col.lanes
	id := tileID(mr, col.size)
	if b.lane {
		id |= laneID
	}
	// Short sums are bound by the memory of C and low tiles by that of B: they count as if they were longer or higher.
	most := max(1, maxCall/(max(mr, minRows)*col.size*families[p.level].lanes*max(minWork, p.nj*p.nk)))
	for count > 0 {
		t.nt = min(count, most)
		if t.nj > 0 {
			t.a, t.b = offset(b.a, aOff), offset(b.b, bOff)
		}
		t.c = offset(b.c, cOff)
		p.request(t)
		if p.last {
			t.bias, t.res, t.mask = offset(b.bias, n), offset(b.res, cOff), offset(b.mask, cOff)
		}
		runTile(p.level, id, t)
		count -= t.nt
		aOff += t.nt * at
		bOff += t.nt * bt
		cOff += t.nt * ct
		n += t.nt * biasTiles
	}
}

// request makes the next tiles ask for a line of each row of what is needed soon, until all lines are requested.
func (p *pass) request(t *tile) {
	t.next, t.nextK, t.nextT = uintptr(t.c), 0, 0
	if p.requested < p.nextLines {
		t.next, t.nextK, t.nextT = p.next+uintptr(64*p.requested), 4*p.nextRow, 64
		p.requested += t.nt
	}
}

// offset returns p advanced by n floats; nil stays nil.
func offset(p unsafe.Pointer, n int) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, 4*n)
}
