package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Kernels that go over one row several times while it is in the first-level cache.

// pass emits a loop over the row: n elements in vectors of 16, of which ways make a group.
func (a *asm) pass(n reg.GPVirtual, ways int, step func(at reg.GPVirtual, way, disp int, m *mask)) {
	left, at := a.GP64(), a.GP64()
	a.MOVQ(n, left)
	a.XORQ(at, at)
	a.OverRange(at, left, ways, func(disp int, m *mask) { step(at, disp/64, disp, m) })
}

// all spreads the join of a vector's lanes over all lanes of a vector.
func (a *asm) all(join func(a *asm, x, y vec) vec, v vec) vec {
	x := a.fold(join, v).AsX()
	d := a.NewVec()
	for h := range a.Halves() {
		a.VBROADCASTSS(x, d[h])
	}
	return d
}

func emitSoftmaxRow(a *asm) {
	a.begin("softmaxRow", "func(dst, x []float32, scale float32) (m, sum float32)")
	dst, x, n := a.Pointer("dst"), a.Pointer("x"), a.Length("dst")
	low := a.constant(math.Inf(-1))
	top := []vec{a.copyOf(low), a.copyOf(low)}
	a.pass(n, 2, func(at reg.GPVirtual, way, disp int, m *mask) {
		v := a.LoadVec(operand.Mem{Base: x, Index: at, Scale: 4, Disp: disp}, m)
		if m != nil {
			v = a.choose(m, v, low)
		}
		a.assign(top[way], a.maxNaN(top[way], v))
	})
	largest := a.all((*asm).maxNaN, a.maxNaN(top[0], top[1]))
	sum := a.Zero()
	a.pass(n, 1, func(at reg.GPVirtual, _, disp int, m *mask) {
		v := a.LoadVec(operand.Mem{Base: x, Index: at, Scale: 4, Disp: disp}, m)
		if m != nil {
			v = a.choose(m, v, low)
		}
		e := a.exp(a.sub(v, largest))
		a.addTo(sum, e)
		a.StoreVec(e, operand.Mem{Base: dst, Index: at, Scale: 4, Disp: disp}, m)
	})
	total := a.all(plus, sum)
	k := a.div(a.Scalar("scale"), total)
	a.pass(n, 1, func(at reg.GPVirtual, _, disp int, m *mask) {
		p := operand.Mem{Base: dst, Index: at, Scale: 4, Disp: disp}
		a.StoreVec(a.mul(a.LoadVec(p, m), k), p, m)
	})
	a.Store(largest[0].AsX(), a.Return("m"))
	a.Store(total[0].AsX(), a.Return("sum"))
	a.end()
}

func emitLayerNormRow(a *asm) {
	a.begin("layerNormRow", "func(y, x, gamma, beta []float32, inv, eps float32) (mean, invStd float32)")
	y, x, gamma, beta, n := a.Pointer("y"), a.Pointer("x"), a.Pointer("gamma"), a.Pointer("beta"), a.Length("y")
	inv, eps := a.Scalar("inv"), a.Scalar("eps")
	const ways = 4
	zeros := func() (v []vec) {
		for range ways {
			v = append(v, a.Zero())
		}
		return v
	}
	acc := zeros()
	a.pass(n, ways, func(at reg.GPVirtual, way, disp int, m *mask) {
		a.addTo(acc[way], a.LoadVec(operand.Mem{Base: x, Index: at, Scale: 4, Disp: disp}, m))
	})
	mean := a.mul(a.all(plus, a.joinAll(plus, acc)), inv)
	acc = zeros()
	a.pass(n, ways, func(at reg.GPVirtual, way, disp int, m *mask) {
		d := a.sub(a.LoadVec(operand.Mem{Base: x, Index: at, Scale: 4, Disp: disp}, m), mean)
		if m != nil {
			d = a.keep(m, d)
		}
		a.fmaTo(acc[way], d, d)
	})
	variance := a.fma(a.all(plus, a.joinAll(plus, acc)), inv, eps)
	invStd := a.div(a.copyOf(a.constant(1)), a.sqrt(variance))
	a.pass(n, 2, func(at reg.GPVirtual, _, disp int, m *mask) {
		from := func(p reg.GPVirtual) vec {
			return a.LoadVec(operand.Mem{Base: p, Index: at, Scale: 4, Disp: disp}, m)
		}
		v := a.mulAdd(a.mul(a.sub(from(x), mean), invStd), from(gamma), from(beta))
		a.StoreVec(v, operand.Mem{Base: y, Index: at, Scale: 4, Disp: disp}, m)
	})
	a.Store(mean[0].AsX(), a.Return("mean"))
	a.Store(invStd[0].AsX(), a.Return("invStd"))
	a.end()
}

func emitFused(a *asm, names *registry) {
	emitSoftmaxRow(a)
	names.add("softmaxRow", "softmaxRowKernel")
	emitLayerNormRow(a)
	names.add("layerNormRow", "layerNormRowKernel")
}
