package gemm

import (
	"unsafe"

	"millrace.dev/learn/internal/cpu"
)

const (
	// panel is the number of columns of a packed panel of B.
	panel = 32
	// maxDepth bounds j·k of one pass over C, so that a column panel of B stays in the second-level cache.
	maxDepth = 1024
	// maxCall bounds the multiply-adds of one call into assembly, which the scheduler cannot interrupt.
	maxCall = 1 << 20
	minWork = 16
	minRows = 8
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
	b.c = at(args.Out, c)
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

// span is a run of count tiles next to each other, each size wide.
type span struct{ at, size, count int }

// columnSpan is a span of columns: size is in vectors.
type columnSpan struct {
	span
	lanes  int // of the last vector
	bt, ct int // from tile to tile, in floats
}

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

// maxRows is the height of the tallest tile with nv vectors across.
func (p *pass) maxRows(f *family, nv int) int {
	if p.lane {
		return f.lane[nv]
	}
	return f.rows[nv]
}

// splitRows cuts m rows into tiles of at most most rows whose heights differ by at most one.
func splitRows(m, most int, buf []span) []span {
	tiles := (m + most - 1) / most
	low, tall := m/tiles, m%tiles
	if tall > 0 {
		buf = append(buf, span{at: 0, size: low + 1, count: tall})
	}
	return append(buf, span{at: tall * (low + 1), size: low, count: tiles - tall})
}

// columnSpans cuts the columns into tiles: as many as possible of the width that suits the number of rows, then
// narrower ones.
func (p *pass) columnSpans(f *family, buf []columnSpan) []columnSpan {
	vectors := (p.n + f.lanes - 1) / f.lanes
	tail := p.n - (vectors-1)*f.lanes
	packed := p.bp != panel && p.n > panel
	done := 0
	for nv := p.width(f, vectors, packed); nv > 0; nv-- {
		left := vectors - done
		if p.maxRows(f, nv) == 0 || left < nv || packed && panel%(nv*f.lanes) != 0 {
			continue
		}
		tiles := left / nv
		cut := 0 // tiles whose last vector is partial
		if tiles*nv == left && tail < f.lanes {
			cut = 1
		}
		if tiles > cut {
			buf = p.appendSpans(buf, done*f.lanes, nv, tiles-cut, f.lanes, packed)
		}
		if cut == 1 {
			at := (vectors - nv) * f.lanes
			buf = append(buf, columnSpan{span: span{at, nv, 1}, lanes: tail})
		}
		done += tiles * nv
	}
	return buf
}

// appendSpans adds tiles of nv full vectors; tiles narrower than a packed panel are regular only from panel to panel.
func (p *pass) appendSpans(buf []columnSpan, at, nv, tiles, lanes int, packed bool) []columnSpan {
	w := nv * lanes
	if !packed {
		return append(buf, columnSpan{span{at, nv, tiles}, lanes, w, w})
	}
	for i := range min(panel/w, tiles) {
		count := (tiles - i + panel/w - 1) / (panel / w)
		buf = append(buf, columnSpan{span{at + i*w, nv, count}, lanes, p.bp, panel})
	}
	return buf
}

// width is the number of vectors across that suits the number of rows: few rows need wide tiles, as each
// accumulator waits for its last multiply-add.
func (p *pass) width(f *family, vectors int, packed bool) int {
	most := min(vectors, len(f.rows)-1)
	if packed {
		most = min(most, panel/f.lanes)
	}
	if p.lane {
		return min(most, 2)
	}
	for nv := most; nv > 2; nv-- {
		if f.rows[nv] >= p.m {
			return nv
		}
	}
	return min(most, 2)
}
