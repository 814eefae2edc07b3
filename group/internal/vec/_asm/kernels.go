package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"millrace.dev/internal/avx"
)

// kernel computes r from slices of the same length, element by element. Products are rounded before they are
// added, as plain Go does where it is told to.
type kernel struct {
	name    string
	in      string // names of the slices that are read
	scalars string // names of the float32 parameters
	check   bool   // reports whether all of r is finite
	body    func(a *asm, x, s []avx.Vec) avx.Vec
}

var kernels = []kernel{
	{"weightedSum", "a b", "ma mb", false, weightedSum},
	{"weightedMean", "a b", "ma mb scale", true, func(a *asm, x, s []avx.Vec) avx.Vec {
		sum := weightedSum(a, x, s)
		a.onto(a.VMULPS, sum, s[2])
		return sum
	}},
	{"scaled", "a", "m scale", true, func(a *asm, x, s []avx.Vec) avx.Vec {
		a.onto(a.VMULPS, x[0], s[0])
		a.onto(a.VMULPS, x[0], s[1])
		return x[0]
	}},
}

func weightedSum(a *asm, x, s []avx.Vec) avx.Vec {
	a.onto(a.VMULPS, x[0], s[0])
	a.onto(a.VMULPS, x[1], s[1])
	a.onto(a.VADDPS, x[0], x[1])
	return x[0]
}

// asm emits code for one instruction set.
type asm struct{ *avx.Asm }

// onto does x = x op y.
func (a *asm) onto(op func(ops ...operand.Op), x, y avx.Vec) {
	for h := range a.Halves() {
		op(y[h], x[h], x[h])
	}
}

// unroll is the number of vectors of an iteration of the main loop.
const unroll = 4

func (k *kernel) signature() string {
	names := func(list string) string { return strings.Join(strings.Fields(list), ", ") }
	s := "func(r, " + names(k.in) + " []float32, " + names(k.scalars) + " float32)"
	if k.check {
		s += " bool"
	}
	return s
}

// emit writes a kernel's loops.
func (a *asm) emit(k kernel) {
	a.Begin(k.name, k.signature())
	r, n := a.Pointer("r"), a.Length("r")
	var from []reg.GPVirtual
	for _, name := range strings.Fields(k.in) {
		from = append(from, a.Pointer(name))
	}
	var s []avx.Vec
	for _, name := range strings.Fields(k.scalars) {
		s = append(s, a.Scalar(name))
	}
	var bad avx.Vec // bits that are set once an element is not finite
	if k.check {
		bad = a.Zero()
	}
	at := a.GP64()
	a.XORQ(at, at)
	a.OverRange(at, n, unroll, func(disp int, m *avx.Mask) {
		place := func(base reg.GPVirtual) operand.Mem {
			return operand.Mem{Base: base, Index: at, Scale: 4, Disp: disp}
		}
		var x []avx.Vec
		for _, base := range from {
			x = append(x, a.LoadVec(place(base), m))
		}
		y := k.body(a, x, s)
		a.StoreVec(y, place(r), m)
		if k.check { // x-x is 0 unless x is infinite or not a number
			a.onto(a.VSUBPS, y, y)
			a.onto(a.VORPS, bad, y)
		}
	})
	if k.check {
		a.Store(a.isZero(bad), a.ReturnIndex(0))
	}
	a.VZEROUPPER()
	a.RET()
}

// isZero is 1 when no bit of v is set, else 0.
func (a *asm) isZero(v avx.Vec) reg.Register {
	ok := a.GP8()
	if a.Wide {
		k := a.K()
		a.VPTESTMD(v[0], v[0], k)
		a.KORTESTW(k, k)
	} else {
		a.VORPS(v[0], v[1], v[0])
		a.VPTEST(v[0], v[0])
	}
	a.SETEQ(ok)
	return ok
}

// ahead is how far before a line is copied it is asked for, in bytes, as the hardware's own looking ahead ends with a page.
const ahead = 1 << 10

// emitStream writes the copy of whole lines, to begins one, past the caches.
func (a *asm) emitStream() {
	a.Begin("stream", "func(to, from []byte)")
	to, from, n := a.Pointer("to"), a.Pointer("from"), a.Length("to")
	a.SHRQ(operand.U8(2), n)
	at := a.GP64()
	a.XORQ(at, at)
	line := func(disp int, _ *avx.Mask) {
		place := func(base reg.GPVirtual) operand.Mem {
			return operand.Mem{Base: base, Index: at, Scale: 4, Disp: disp}
		}
		a.PREFETCHT0(place(from).Offset(ahead))
		x := a.LoadVec(place(from), nil)
		for h := range a.Halves() {
			a.VMOVNTPS(x[h], place(to).Offset(32*h))
		}
	}
	a.OverWhole(at, n, unroll, line)
	a.OverWhole(at, n, 1, line)
	a.SFENCE()
	a.VZEROUPPER()
	a.RET()
}
