package oracle

import (
	"math"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// array is a value while the oracle computes: one of the slices is set, by element type.
type array struct {
	spec graph.Spec
	f    []float64 // of any floating-point type
	i    []int32
	u    []uint8
}

func newArray(s graph.Spec) *array {
	a, n := &array{spec: s}, s.Shape.Elems()
	switch s.DType {
	case tensor.Int32:
		a.i = make([]int32, n)
	case tensor.Uint8:
		a.u = make([]uint8, n)
	default:
		a.f = make([]float64, n)
	}
	return a
}

func (a *array) shape() tensor.Shape { return a.spec.Shape }

// bytes that the array occupies.
func (a *array) bytes() int { return 8*len(a.f) + 4*len(a.i) + len(a.u) }

// load takes the elements of a tensor of the same spec.
func (a *array) load(t *tensor.Tensor) {
	switch a.spec.DType {
	case tensor.Float32:
		loadF32(a.f, t.F32())
	case tensor.Float16:
		for i, b := range t.U16() {
			a.f[i] = fromHalf(b)
		}
	case tensor.BFloat16:
		for i, b := range t.U16() {
			a.f[i] = float64(math.Float32frombits(uint32(b) << 16))
		}
	case tensor.Int32:
		copy(a.i, t.I32())
	case tensor.Uint8:
		copy(a.u, t.U8())
	}
}

// store rounds the elements into a tensor of the same spec.
func (a *array) store(t *tensor.Tensor) {
	switch a.spec.DType {
	case tensor.Float32:
		storeF32(t.F32(), a.f)
	case tensor.Float16:
		for i, x := range a.f {
			t.U16()[i] = toHalf(x)
		}
	case tensor.BFloat16:
		for i, x := range a.f {
			t.U16()[i] = uint16(math.Float32bits(float32(x)) >> 16)
		}
	case tensor.Int32:
		copy(t.I32(), a.i)
	case tensor.Uint8:
		copy(t.U8(), a.u)
	}
}

// smallest normal float32; everything smaller counts as zero.
const smallest = 0x1p-126

func loadF32(dst []float64, src []float32) {
	for i, x := range src {
		dst[i] = flush(float64(x))
	}
}

func storeF32(dst []float32, src []float64) {
	for i, x := range src {
		dst[i] = float32(flush(x))
	}
}

func flush(x float64) float64 {
	if math.Abs(x) < smallest {
		return 0
	}
	return x
}

// finite returns the position of the first element that float32 cannot hold as a finite
// number, and the element as float32 has it; -1 when there is none.
func (a *array) finite() (int, float64) {
	for i, x := range a.f {
		if y := float64(float32(x)); math.IsInf(y, 0) || math.IsNaN(y) {
			return i, y
		}
	}
	return -1, 0
}

// each calls f with every index of the shape, in row-major order. f must not keep the index.
func each(s tensor.Shape, f func(at []int)) {
	if s.Elems() == 0 {
		return
	}
	at := make([]int, len(s))
	for {
		f(at)
		k := len(s) - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < s[k] {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// offset of an index in a shape that broadcasts to the index' shape: aligned at the end, with
// dimensions of size 1 always at 0.
func offset(at []int, s tensor.Shape) int {
	off := 0
	for k, d := range s {
		i := at[len(at)-len(s)+k]
		if d == 1 {
			i = 0
		}
		off = off*d + i
	}
	return off
}
