package vec

type transposeKernel = func(dst, x []float32, rows, cols, dstStride, xStride int)

// PermuteRows is the number of rows along the last output axis that Permute makes.
func PermuteRows(shape, perm []int) int {
	n := 1
	for _, p := range perm[:max(len(perm)-1, 0)] {
		n *= shape[p]
	}
	return n
}

// Permute computes output rows [lo, hi) of the transposition of x (row-major, of the given shape,
// rank ≤ MaxRank) in which output axis i is input axis perm[i]. Matrix transposition, NHWC to NCHW
// and back, and any other exchange of two neighbouring groups of last axes run in blocks; so do
// permutations that leave the last axis in place.
func Permute(dst, x []float32, shape, perm []int, lo, hi int) {
	if len(perm) == 0 {
		copy(dst[:hi-lo], x[lo:hi])
		return
	}
	rank := len(perm)
	var out, stride, in [MaxRank]int
	RowMajor(in[:rank], shape)
	for i, p := range perm {
		out[i], stride[i] = shape[p], in[p]
		if shape[p] == 1 {
			stride[i] = 0
		}
	}
	cols := out[rank-1]
	if batch, m, n, ok := exchange(shape, perm); ok && cols > 1 && n > 1 {
		transposeRange(dst, x, batch, m, n, lo*cols, hi*cols)
		return
	}
	var w walk
	w.seek(out[:rank], lo*cols)
	for r := lo; r < hi; r++ {
		d, s := dst[r*cols:][:cols], x[w.offset(stride[:rank]):]
		if step := stride[rank-1]; step == 1 {
			copy(d, s)
		} else {
			for i := range d {
				d[i] = s[i*step]
			}
		}
		w.nextRow(out[:rank])
	}
}

// exchange recognises a permutation that keeps its first axes (batch elements) and exchanges two
// groups after them, m×n to n×m.
func exchange(shape, perm []int) (batch, m, n int, ok bool) {
	batch, m, n = 1, 1, 1
	k := 0
	for k < len(perm) && perm[k] == k {
		batch *= shape[k]
		k++
	}
	if k == len(perm) {
		return 0, 0, 0, false
	}
	split := perm[k]
	for i := k; i < split; i++ {
		m *= shape[i]
	}
	for i := split; i < len(perm); i++ {
		n *= shape[i]
	}
	for i := k; i < len(perm); i++ {
		want := split + i - k
		if want >= len(perm) {
			want -= len(perm) - k
		}
		if perm[i] != want {
			return 0, 0, 0, false
		}
	}
	return batch, m, n, true
}

// transposeRange computes elements [lo, hi) of the transposition of batch matrices m×n; the range
// starts and ends at a multiple of a part of m (an output row is m long).
func transposeRange(dst, x []float32, batch, m, n, lo, hi int) {
	for lo < hi {
		b, at := lo/(m*n), lo%(m*n)
		row, col := at/m, at%m
		src, d := x[b*m*n:][:m*n], dst[b*m*n:][:m*n]
		switch {
		case col != 0: // up to the end of an output row
			k := min(m-col, hi-lo)
			transposeBlock(d[row*m+col:], src[col*n+row:], k, 1, m, n)
			lo += k
		case hi-lo < m: // the start of an output row
			transposeBlock(d[row*m:], src[row:], hi-lo, 1, m, n)
			lo = hi
		default:
			rows := min(n-row, (hi-lo)/m)
			transposeBlock(d[row*m:], src[row:], m, rows, m, n)
			lo += rows * m
		}
	}
}

// transposeBlock sets dst[c·dstStride + r] = x[r·xStride + c] for r < rows, c < cols.
func transposeBlock(dst, x []float32, rows, cols, dstStride, xStride int) {
	const tile = 64 // 64×64 floats: source and destination lines of a tile stay in L1
	f := transposeTab.pick()
	for c := 0; c < cols; c += tile {
		for r := 0; r < rows; r += tile {
			f(dst[c*dstStride+r:], x[r*xStride+c:], min(tile, rows-r), min(tile, cols-c), dstStride, xStride)
		}
	}
}

func transposeGeneric(dst, x []float32, rows, cols, dstStride, xStride int) {
	const tile = 8
	for c0 := 0; c0 < cols; c0 += tile {
		for r := range rows {
			for c := c0; c < min(c0+tile, cols); c++ {
				dst[c*dstStride+r] = x[r*xStride+c]
			}
		}
	}
}
