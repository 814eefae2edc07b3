package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// stream is a kernel on contiguous ranges: for each 16 elements it reads some slices, computes,
// and writes some slices. The first slice's length is the range.
type stream struct {
	name, typ string
	slices    string // names of the parameters, separated by spaces
	in, out   string // names of the slices read and written
	scalars   string // names of the float32 parameters
	unroll    int    // vectors an iteration of the main loop, 1 if 0
	halved    bool   // AVX2 computes the halves of a vector one after the other, to need fewer registers
	body      func(a *asm, x, s []vec) []vec
}

func (k *stream) signature() string {
	sig := "func(" + strings.Join(strings.Fields(k.slices), ", ") + " []float32"
	if k.scalars != "" {
		sig += ", " + strings.Join(strings.Fields(k.scalars), ", ") + " float32"
	}
	return sig + ")"
}

func (k *stream) emit(a *asm) {
	a.begin(k.name, k.signature())
	ptr := map[string]reg.GPVirtual{}
	slices := strings.Fields(k.slices)
	for _, s := range slices {
		if strings.Contains(" "+k.in+" "+k.out+" ", " "+s+" ") {
			ptr[s] = a.Pointer(s)
		}
	}
	n := a.Length(slices[0])
	var scalars []vec
	for _, s := range strings.Fields(k.scalars) {
		scalars = append(scalars, a.Scalar(s))
	}
	at := a.GP64()
	a.XORQ(at, at)
	step := func(disp int, m *mask) {
		var x []vec
		for _, s := range strings.Fields(k.in) {
			x = append(x, a.LoadVec(operand.Mem{Base: ptr[s], Index: at, Scale: 4, Disp: disp}, m))
		}
		y := k.body(a, x, scalars)
		for i, s := range strings.Fields(k.out) {
			a.StoreVec(y[i], operand.Mem{Base: ptr[s], Index: at, Scale: 4, Disp: disp}, m)
		}
	}
	a.OverRange(at, n, max(k.unroll, 1), func(disp int, m *mask) {
		if k.halved {
			a.byHalves(m, func(h int, m *mask) { step(disp+32*h, m) })
		} else {
			step(disp, m)
		}
	})
	a.end()
}

// byHalves emits step once for each register of a vec, with vecs of one register meanwhile.
func (a *asm) byHalves(m *mask, step func(h int, m *mask)) {
	if a.Wide {
		step(0, m)
		return
	}
	a.Single = true
	for h := range 2 {
		part := m
		if m != nil {
			part = &mask{V: vec{m.V[h]}}
		}
		step(h, part)
	}
	a.Single = false
}

// half takes register h of each vec.
func half(vs []vec, h int) []vec {
	out := make([]vec, len(vs))
	for i, v := range vs {
		out[i] = vec{v[h]}
	}
	return out
}
