package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panel is a kernel on rows×cols matrices with numbers that belong to a column or to a row. It
// takes the columns in panels of some vectors, keeps the panel's column numbers and sums in
// registers, and runs down the rows. Its parameters are
//
//	func(sums…, matrices…, columns…, rowwise… []float32, rows, cols[, stride] int)
//
// in the order of params. A map writes matrices; a column sum adds to sums, each with ways partial
// sums (row i of a group of ways goes to partial i, the rows after the last group to partial 0).
// A map does ways rows an iteration.
type panel struct {
	name, typ string
	params    string    // slices in the order of the Go function
	read      string    // matrices read
	written   string    // matrices written
	cols      string    // vectors with a number for each column
	optional  string    // column vectors that may be nil
	defaults  []float64 // what stands for a nil column vector, in the order of cols
	coefs     int       // numbers a column of "coef", stored one vector after the other
	rowwise   string    // vectors with a number for each row
	sums      string
	ways      int
	strided   bool // rows are stride apart, else cols
	body      func(a *asm, p *panelArgs) []vec
}

// panelArgs are a step's operands: one vector of a row.
type panelArgs struct {
	x   []vec // of the matrices read
	col []vec // of the column vectors, then the coefs
	row []vec // of the row vectors
	acc []vec // partial sums
}

func has(list, name string) bool { return strings.Contains(" "+list+" ", " "+name+" ") }

func (k *panel) signature() string {
	sig := "func(" + strings.Join(strings.Fields(k.params), ", ") + " []float32, rows, cols"
	if k.strided {
		sig += ", stride"
	}
	return sig + " int)"
}

// panelState holds the registers of the function being emitted.
type panelState struct {
	*asm
	k      *panel
	ptr    map[string]reg.GPVirtual
	left   reg.GPVirtual // columns to do
	stride reg.GPVirtual // in bytes
}

func (k *panel) emit(a *asm) {
	a.begin(k.name, k.signature())
	s := &panelState{asm: a, k: k, ptr: map[string]reg.GPVirtual{}}
	for _, p := range strings.Fields(k.params) {
		if has(k.read+" "+k.written+" "+k.cols+" "+k.rowwise+" "+k.sums, p) || p == "coef" {
			s.ptr[p] = a.Pointer(p)
		}
	}
	s.left = a.integer("cols")
	s.stride = a.GP64()
	if k.strided {
		a.Load(a.Param("stride"), s.stride)
	} else {
		a.MOVQ(s.left, s.stride)
	}
	a.SHLQ(operand.U8(2), s.stride)
	widths := []int{1}
	if a.Wide {
		widths = []int{4, 2, 1} // up to 64 columns a row is then read in one go
	}
	for _, v := range widths {
		next, done := a.NewLabel("panel"), a.NewLabel("narrow")
		a.Label(next)
		a.CMPQ(s.left, operand.U32(16*v))
		a.JB(operand.LabelRef(done))
		s.panel(v, nil)
		s.advance(64 * v)
		a.SUBQ(operand.U32(16*v), s.left)
		a.JMP(operand.LabelRef(next))
		a.Label(done)
		if v == 1 {
			break
		}
	}
	end := a.NewLabel("end")
	a.TESTQ(s.left, s.left)
	a.JZ(operand.LabelRef(end))
	s.panel(1, a.TailMask(s.left))
	a.Label(end)
	a.end()
}

// advance moves all pointers but the row vectors' to the next panel. A nil pointer stays nil.
func (s *panelState) advance(bytes int) {
	for _, p := range strings.Fields(s.k.params) {
		r, ok := s.ptr[p]
		if !ok || has(s.k.rowwise, p) {
			continue
		}
		if has(s.k.optional, p) {
			skip := s.NewLabel("absent")
			s.TESTQ(r, r)
			s.JZ(operand.LabelRef(skip))
			s.ADDQ(operand.U32(bytes), r)
			s.Label(skip)
			continue
		}
		s.ADDQ(operand.U32(bytes), r)
	}
}

// panel emits nv vectors of columns, over all rows.
func (s *panelState) panel(nv int, m *mask) {
	k := s.k
	col := s.columns(nv, m)
	acc := make([][][]vec, k.ways) // acc[way][vector][sum]
	for w := range acc {
		acc[w] = make([][]vec, nv)
		for v := range nv {
			for range strings.Fields(k.sums) {
				acc[w][v] = append(acc[w][v], s.Zero())
			}
		}
	}
	at, rows := s.GP64(), s.Load(s.Param("rows"), s.GP64()).(reg.GPVirtual)
	s.XORQ(at, at)
	row := s.GP64()
	s.XORQ(row, row)
	for _, group := range []int{k.ways, 1} {
		loop, done := s.NewLabel("row"), s.NewLabel("rows")
		s.CMPQ(rows, operand.U32(group))
		s.JB(operand.LabelRef(done))
		s.Label(loop)
		for w := range group {
			var rowNumbers []vec
			for _, p := range strings.Fields(k.rowwise) {
				rowNumbers = append(rowNumbers, s.Broadcast(operand.Mem{Base: s.ptr[p], Index: row, Scale: 4, Disp: 4 * w}))
			}
			for v := range nv {
				s.byHalves(m, func(h int, m *mask) {
					s.step(at, 64*v+32*h, m, half(col[v], h), half(rowNumbers, h), half(acc[w][v], h))
				})
			}
			s.ADDQ(s.stride, at)
		}
		if k.rowwise != "" {
			s.ADDQ(operand.U32(group), row)
		}
		s.SUBQ(operand.U32(group), rows)
		s.CMPQ(rows, operand.U32(group))
		s.JAE(operand.LabelRef(loop))
		s.Label(done)
		if group == 1 {
			break
		}
	}
	for i, p := range strings.Fields(k.sums) {
		for v := range nv {
			parts := make([]vec, k.ways)
			for w := range parts {
				parts[w] = acc[w][v][i]
			}
			to := operand.Mem{Base: s.ptr[p], Disp: 64 * v}
			s.StoreVec(s.add(s.joinAll(plus, parts), s.LoadVec(to, m)), to, m)
		}
	}
}

// columns loads the panel's column numbers.
func (s *panelState) columns(nv int, m *mask) [][]vec {
	col := make([][]vec, nv)
	for i, p := range strings.Fields(s.k.cols) {
		var absent, loaded string
		if has(s.k.optional, p) {
			absent, loaded = s.NewLabel("default"), s.NewLabel("loaded")
			s.TESTQ(s.ptr[p], s.ptr[p])
			s.JZ(operand.LabelRef(absent))
		}
		for v := range nv {
			col[v] = append(col[v], s.LoadVec(operand.Mem{Base: s.ptr[p], Disp: 64 * v}, m))
		}
		if absent != "" {
			s.JMP(operand.LabelRef(loaded))
			s.Label(absent)
			for v := range nv {
				s.assign(col[v][i], s.copyOf(s.constant(s.k.defaults[i])))
			}
			s.Label(loaded)
		}
	}
	if s.k.coefs > 0 {
		p := s.GP64()
		s.MOVQ(s.ptr["coef"], p)
		for range s.k.coefs {
			for v := range nv {
				col[v] = append(col[v], s.LoadVec(operand.Mem{Base: p, Disp: 64 * v}, m))
			}
			s.ADDQ(s.stride, p)
		}
	}
	return col
}

// step emits one vector of one row.
func (s *panelState) step(at reg.GPVirtual, disp int, m *mask, col, row, acc []vec) {
	args := &panelArgs{col: col, row: row, acc: acc}
	address := func(p string) operand.Mem {
		return operand.Mem{Base: s.ptr[p], Index: at, Scale: 1, Disp: disp}
	}
	for _, p := range strings.Fields(s.k.read) {
		args.x = append(args.x, s.LoadVec(address(p), m))
	}
	out := s.k.body(s.asm, args)
	for i, p := range strings.Fields(s.k.written) {
		s.StoreVec(out[i], address(p), m)
	}
}
