package vec

//go:generate go -C _asm run .

import "millrace.dev/internal/cpu"

// block is the number of elements of one kernel call on a contiguous range: long enough that the
// call costs nothing beside it, short enough (some 20 µs at worst) that the Go scheduler, which
// cannot preempt assembly, is never held up.
const block = 8192

// table holds the variants of one kernel, indexed by cpu.Level.
type table[F any] [cpu.AVX512 + 1]F

func (t *table[F]) pick() F { return t[cpu.Current()] }

// Kernels on contiguous ranges, by number of slices and of scalars. The first slice gives the
// length; the others are at least as long.
type (
	kernel2  = func(dst, x []float32)
	kernel2s = func(dst, x []float32, a, b float32)
	kernel3  = func(dst, x, y []float32)
	kernel3s = func(dst, x, y []float32, a, b float32)
)

func run2(t *table[kernel2], dst, x []float32) {
	f := t.pick()
	x = x[:len(dst)]
	for len(dst) > block {
		f(dst[:block], x[:block])
		dst, x = dst[block:], x[block:]
	}
	f(dst, x)
}

func run2s(t *table[kernel2s], dst, x []float32, a, b float32) {
	f := t.pick()
	x = x[:len(dst)]
	for len(dst) > block {
		f(dst[:block], x[:block], a, b)
		dst, x = dst[block:], x[block:]
	}
	f(dst, x, a, b)
}

func run3(t *table[kernel3], dst, x, y []float32) {
	f := t.pick()
	x, y = x[:len(dst)], y[:len(dst)]
	for len(dst) > block {
		f(dst[:block], x[:block], y[:block])
		dst, x, y = dst[block:], x[block:], y[block:]
	}
	f(dst, x, y)
}

func run3s(t *table[kernel3s], dst, x, y []float32, a, b float32) {
	f := t.pick()
	x, y = x[:len(dst)], y[:len(dst)]
	for len(dst) > block {
		f(dst[:block], x[:block], y[:block], a, b)
		dst, x, y = dst[block:], x[block:], y[block:]
	}
	f(dst, x, y, a, b)
}
