package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomShape has rank 0 to 5.
func randomShape(rng *rand.Rand) (shape []int, n int) {
	n = 1
	for range rng.IntN(6) {
		d := 1 + rng.IntN(6)
		if rng.IntN(5) == 0 {
			d = 1 + rng.IntN(20)
		}
		shape = append(shape, d)
		n *= d
	}
	return shape, n
}

// index splits a flat row-major index.
func index(i int, shape []int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a], i = i%shape[a], i/shape[a]
	}
	return at
}

func offset(at, stride []int) (sum int) {
	for a, i := range at {
		sum += i * stride[a]
	}
	return sum
}

func TestPermute(t *testing.T) {
	rng := newRand()
	eachLevel(t, func(t *testing.T) {
		for k := range 400 {
			shape, n := randomShape(rng)
			if k%4 == 0 { // a matrix, or NHWC
				shape = []int{1 + rng.IntN(3), 1 + rng.IntN(90), 1 + rng.IntN(90)}
				n = shape[0] * shape[1] * shape[2]
			}
			perm := rng.Perm(len(shape))
			if k%4 == 0 {
				perm = []int{0, 2, 1}
			}
			x, dst := make([]float32, n), make([]float32, n)
			random(rng, x)
			rows := PermuteRows(shape, perm)
			ranges(rng, rows, func(lo, hi int) { Permute(dst, x, shape, perm, lo, hi) })
			out := make([]int, len(shape))
			for i, p := range perm {
				out[i] = shape[p]
			}
			stride := make([]int, len(shape))
			RowMajor(stride, shape)
			for i, got := range dst {
				at := make([]int, len(shape))
				for a, j := range index(i, out) {
					at[perm[a]] = j
				}
				if want := x[offset(at, stride)]; got != want {
					t.Fatalf("%v by %v: element %d is %g, want %g", shape, perm, i, got, want)
				}
			}
		}
	})
}

// TestTransposeTails: all edges of the 8×8 blocks, between guard pages.
func TestTransposeTails(t *testing.T) {
	f, rng := fences(t, 2), newRand()
	eachLevel(t, func(t *testing.T) {
		for rows := 1; rows < 20; rows++ {
			for cols := 1; cols < 20; cols++ {
				s := guarded(f, rng, rows%2 == 0, rows*cols, rows*cols)
				Permute(s[0], s[1], []int{rows, cols}, []int{1, 0}, 0, cols)
				for r := range rows {
					for c := range cols {
						if s[0][c*rows+r] != s[1][r*cols+c] {
							t.Fatalf("%d×%d: element %d,%d is wrong", rows, cols, r, c)
						}
					}
				}
				checkIntact(t, f, rows%2 == 0, s)
			}
		}
	})
}

func TestCopyStrided(t *testing.T) {
	rng := newRand()
	for range 300 {
		shape, n := randomShape(rng)
		// The box stands in a larger tensor at an offset; the source may be broadcast.
		outer, before := make([]int, len(shape)), make([]int, len(shape))
		size := 1
		for i, d := range shape {
			before[i] = rng.IntN(3)
			outer[i] = d + before[i] + rng.IntN(3)
			size *= outer[i]
		}
		stride, from := make([]int, len(shape)), make([]int, len(shape))
		RowMajor(stride, outer)
		small := slices.Clone(shape)
		for i := range small {
			if rng.IntN(4) == 0 {
				small[i] = 1
			}
		}
		BroadcastStrides(from, small, shape)
		x, dst := make([]float32, n), make([]float32, size)
		random(rng, x)
		CopyStrided(dst[offset(before, stride):], stride, x, from, shape)
		count := 0
		for i := range n {
			at := index(i, shape)
			want := x[offset(at, from)]
			for a := range at {
				at[a] += before[a]
			}
			if got := dst[offset(at, stride)]; got != want {
				t.Fatalf("box %v in %v: element %v is %g, want %g", shape, outer, at, got, want)
			}
			count++
		}
		for _, v := range dst {
			if v != 0 {
				count--
			}
		}
		if count < 0 {
			t.Fatalf("box %v in %v: wrote outside the box", shape, outer)
		}
	}
}

func TestBinaryStrided(t *testing.T) {
	rng := newRand()
	eachLevel(t, func(t *testing.T) {
		for range 300 {
			shape, n := randomShape(rng)
			operand := func() (x []float32, stride []int) {
				s := slices.Clone(shape[rng.IntN(len(shape)+1):])
				size := 1
				for i := range s {
					if rng.IntN(3) == 0 {
						s[i] = 1
					}
					size *= s[i]
				}
				x, stride = make([]float32, size), make([]int, len(shape))
				random(rng, x)
				BroadcastStrides(stride, s, shape)
				return x, stride
			}
			x, xs := operand()
			y, ys := operand()
			for op := range ops {
				dst := make([]float32, n)
				ranges(rng, n, func(lo, hi int) { BinaryStrided(op, dst, shape, x, xs, y, ys, lo, hi) })
				for i, got := range dst {
					at := index(i, shape)
					if want := op.eval(x[offset(at, xs)], y[offset(at, ys)]); got != want {
						t.Fatalf("op %d on %v, strides %v %v: element %d is %g, want %g", op, shape, xs, ys, i, got, want)
					}
				}
			}
		}
	})
}

func TestBinaryRowsAndCols(t *testing.T) {
	const rows, cols = 7, 19
	rng := newRand()
	eachLevel(t, func(t *testing.T) {
		x, y, z, dst := make([]float32, rows*cols), make([]float32, cols), make([]float32, rows), make([]float32, rows*cols)
		random(rng, x)
		random(rng, y)
		random(rng, z)
		for op := range ops {
			BinaryRows(op, dst, x, y, rows, cols)
			for i, got := range dst {
				if want := op.eval(x[i], y[i%cols]); got != want {
					t.Fatalf("op %d by rows: element %d is %g, want %g", op, i, got, want)
				}
			}
			BinaryCols(op, dst, x, z, rows, cols)
			for i, got := range dst {
				if want := op.eval(x[i], z[i/cols]); got != want {
					t.Fatalf("op %d by columns: element %d is %g, want %g", op, i, got, want)
				}
			}
			ScalarBinary(op, dst[:cols], 0.5, y)
			for i, got := range dst[:cols] {
				if want := op.eval(0.5, y[i]); got != want {
					t.Fatalf("op %d of a number: element %d is %g, want %g", op, i, got, want)
				}
			}
		}
	})
}

func TestGatherScatter(t *testing.T) {
	const tableRows, cols, n = 13, 21, 60
	rng := newRand()
	eachLevel(t, func(t *testing.T) {
		table, rows, grad := make([]float32, tableRows*cols), make([]float32, n*cols), make([]float32, tableRows*cols)
		random(rng, table)
		at := make([]int32, n)
		for i := range at {
			at[i] = int32(rng.IntN(tableRows))
		}
		if bad := GatherRows(rows, table, at, tableRows, cols); bad != -1 {
			t.Fatal(bad)
		}
		ranges(rng, tableRows, func(lo, hi int) {
			if bad := ScatterAddRows(grad, rows, at, tableRows, cols, lo, hi); bad != -1 {
				t.Fatal(bad)
			}
		})
		want := make([]float32, len(grad))
		for i, r := range at {
			for c := range cols {
				v := rows[i*cols+c]
				if v != table[int(r)*cols+c] {
					t.Fatalf("row %d is not table row %d", i, r)
				}
				want[int(r)*cols+c] += v
			}
		}
		if i := equalBits(grad, want); i >= 0 {
			t.Fatalf("scattered sum %d is %g, want %g", i, grad[i], want[i])
		}
		for _, bad := range []int32{-1, tableRows} {
			at[5] = bad
			if got := GatherRows(rows, table, at, tableRows, cols); got != 5 {
				t.Errorf("GatherRows reports %d for row %d at 5", got, bad)
			}
			if got := ScatterAddRows(grad, rows, at, tableRows, cols, 0, tableRows); got != 5 {
				t.Errorf("ScatterAddRows reports %d for row %d at 5", got, bad)
			}
		}
	})
}

func TestFill(t *testing.T) {
	for n := range 70 {
		x := make([]float32, n+1)
		Fill(x[:n], 3)
		for i, v := range x[:n] {
			if v != 3 {
				t.Fatalf("element %d of %d is %g", i, n, v)
			}
		}
		if x[n] != 0 {
			t.Fatalf("Fill of %d wrote outside", n)
		}
	}
}

func TestMoveAllocatesNothing(t *testing.T) {
	x, dst, y := make([]float32, 6*9*11), make([]float32, 6*9*11), make([]float32, 11)
	shape, perm := []int{6, 9, 11}, []int{2, 0, 1}
	stride, zero := []int{99, 11, 1}, []int{0, 0, 1}
	reduced := []bool{true, false, true}
	if n := testing.AllocsPerRun(10, func() {
		Permute(dst, x, shape, perm, 0, PermuteRows(shape, perm))
		CopyStrided(dst, stride, x, stride, shape)
		BinaryStrided(OpMul, dst, shape, x, stride, y, zero, 0, len(dst))
		ReduceAxes(ReduceSum, dst, x, shape, reduced, 0, 9)
	}); n != 0 {
		t.Errorf("moves allocate %v times", n)
	}
}
