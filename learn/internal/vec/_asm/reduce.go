package main

import (
	"math"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reduction is a kernel that folds contiguous ranges into numbers. It keeps ways vectors of partial
// results; vector i of a whole group of ways goes to partial i, the vectors after the last group to
// partial 0. Both instruction sets therefore add the same numbers in the same order.
type reduction struct {
	name, typ string
	slices    string // names of the parameters; the first one's length is the range
	scalars   string
	results   string // names of the results, "" for one
	ways      int
	start     float64 // a partial's first value
	store     string  // name of a slice that body's result is written to
	fill      func(a *asm, s []vec) src
	body      func(a *asm, x, s, acc []vec) vec
	join      func(a *asm, x, y vec) vec
}

// inputs are the slices read: all but the one stored to.
func (k *reduction) inputs() (in []string) {
	for _, s := range strings.Fields(k.slices) {
		if s != k.store {
			in = append(in, s)
		}
	}
	return in
}

func (k *reduction) signature() string {
	sig := "func(" + strings.Join(strings.Fields(k.slices), ", ") + " []float32"
	if k.scalars != "" {
		sig += ", " + strings.Join(strings.Fields(k.scalars), ", ") + " float32"
	}
	if k.results != "" {
		return sig + ") (" + strings.Join(strings.Fields(k.results), ", ") + " float32)"
	}
	return sig + ") float32"
}

func (k *reduction) emit(a *asm) {
	a.begin(k.name, k.signature())
	ptr := map[string]reg.GPVirtual{}
	slices := strings.Fields(k.slices)
	for _, s := range slices {
		ptr[s] = a.Pointer(s)
	}
	n, at := a.Length(slices[0]), a.GP64()
	var scalars []vec
	for _, s := range strings.Fields(k.scalars) {
		scalars = append(scalars, a.Scalar(s))
	}
	results := max(1, len(strings.Fields(k.results)))
	acc := make([][]vec, k.ways) // acc[way][result]
	for w := range acc {
		for range results {
			v := a.Zero()
			if k.start != 0 {
				v = a.copyOf(a.constant(k.start))
			}
			acc[w] = append(acc[w], v)
		}
	}
	a.XORQ(at, at)
	a.OverRange(at, n, k.ways, func(disp int, m *mask) {
		var x []vec
		for i, s := range k.inputs() {
			v := a.LoadVec(operand.Mem{Base: ptr[s], Index: at, Scale: 4, Disp: disp}, m)
			if m != nil && i == 0 && k.fill != nil {
				v = a.choose(m, v, k.fill(a, scalars))
			}
			x = append(x, v)
		}
		out := k.body(a, x, scalars, acc[disp/64])
		if k.store != "" {
			a.StoreVec(out, operand.Mem{Base: ptr[k.store], Index: at, Scale: 4, Disp: disp}, m)
		}
	})
	for r := range results {
		v := make([]vec, k.ways)
		for w := range v {
			v[w] = acc[w][r]
		}
		a.Store(a.fold(k.join, a.joinAll(k.join, v)).AsX(), a.ReturnIndex(r))
	}
	a.end()
}

// joinAll joins neighbours pairwise until one is left.
func (a *asm) joinAll(join func(a *asm, x, y vec) vec, v []vec) vec {
	for len(v) > 1 {
		var next []vec
		for i := 0; i < len(v); i += 2 {
			next = append(next, join(a, v[i], v[i+1]))
		}
		v = next
	}
	return v[0]
}

func plus(a *asm, x, y vec) vec { return a.add(x, y) }

var reductions = []reduction{
	{name: "sum", typ: "reduce1", slices: "x", ways: 4, join: plus,
		body: func(a *asm, x, _, acc []vec) vec { a.addTo(acc[0], x[0]); return x[0] }},
	{name: "sumSquares", typ: "reduce1", slices: "x", ways: 4, join: plus,
		body: func(a *asm, x, _, acc []vec) vec { a.fmaTo(acc[0], x[0], x[0]); return x[0] }},
	{name: "dot", typ: "reduce2", slices: "x y", ways: 4, join: plus,
		body: func(a *asm, x, _, acc []vec) vec { a.fmaTo(acc[0], x[0], x[1]); return x[0] }},
	{name: "nonFinite", typ: "reduce1", slices: "x", ways: 4, join: plus,
		body: func(a *asm, x, _, acc []vec) vec { a.fmaTo(acc[0], x[0], a.constant(0)); return x[0] }},
	{name: "maxOf", typ: "reduce1", slices: "x", ways: 4, start: math.Inf(-1), join: (*asm).maxNaN,
		fill: func(a *asm, _ []vec) src { return a.constant(math.Inf(-1)) },
		body: func(a *asm, x, _, acc []vec) vec { a.assign(acc[0], a.maxNaN(acc[0], x[0])); return x[0] }},
	{name: "deviation", typ: "reduceShifted", slices: "x", scalars: "mean", ways: 4, join: plus,
		fill: func(_ *asm, s []vec) src { return s[0] },
		body: func(a *asm, x, s, acc []vec) vec {
			d := a.sub(x[0], s[0])
			a.fmaTo(acc[0], d, d)
			return d
		}},
	{name: "expSum", typ: "expSumKernel", slices: "dst x", scalars: "m", ways: 1, join: plus, store: "dst",
		fill: func(a *asm, _ []vec) src { return a.constant(math.Inf(-1)) },
		body: func(a *asm, x, s, acc []vec) vec {
			e := a.exp(a.sub(x[0], s[0]))
			a.addTo(acc[0], e)
			return e
		}},
	{name: "sumExp", typ: "sumExpKernel", slices: "x", scalars: "m", ways: 1, join: plus,
		fill: func(a *asm, _ []vec) src { return a.constant(math.Inf(-1)) },
		body: func(a *asm, x, s, acc []vec) vec {
			e := a.exp(a.sub(x[0], s[0]))
			a.addTo(acc[0], e)
			return e
		}},
	{name: "lnSums", typ: "lnSumsKernel", slices: "dy x gamma", scalars: "mean", results: "s sx", ways: 2, join: plus,
		body: func(a *asm, x, s, acc []vec) vec {
			g := a.mul(x[0], x[2])
			a.addTo(acc[0], g)
			a.fmaTo(acc[1], g, a.sub(x[1], s[0]))
			return g
		}},
}

// assign is d = x.
func (a *asm) assign(d, x vec) {
	for h := range a.Halves() {
		a.VMOVAPS(x[h], d[h])
	}
}

// layerNorm lists the elementwise halves of layer norm.
var layerNorm = []stream{
	{name: "lnApply", typ: "lnApplyKernel", slices: "dst x gamma beta", in: "x gamma beta", out: "dst", scalars: "mean invStd", unroll: 2,
		body: func(a *asm, x, s []vec) []vec {
			return []vec{a.fma(a.mul(a.sub(x[0], s[0]), s[1]), x[1], x[2])}
		}},
	{name: "lnInput", typ: "lnInputKernel", slices: "dx dy x gamma", in: "dy x gamma", out: "dx", scalars: "mean k c0 c1", unroll: 2,
		body: func(a *asm, x, s []vec) []vec {
			g := a.sub(a.mul(x[0], x[2]), s[2])
			return []vec{a.mul(a.fnma(a.sub(x[1], s[0]), s[3], g), s[1])}
		}},
}

func emitReductions(a *asm, names *registry) {
	for _, k := range reductions {
		k.emit(a)
		names.add(k.name, k.typ)
	}
	for _, k := range layerNorm {
		k.emit(a)
		names.add(k.name, k.typ)
	}
}
