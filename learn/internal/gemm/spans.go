package gemm

// span is a run of count tiles next to each other, each size wide.
type span struct{ at, size, count int }

// columnSpan is a span of columns: size is in vectors.
type columnSpan struct {
	span
	lanes  int // of the last vector
	bt, ct int // from tile to tile, in floats
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
