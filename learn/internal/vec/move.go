package vec

// Fill sets every element to v.
func Fill(dst []float32, v float32) {
	if len(dst) == 0 {
		return
	}
	dst[0] = v
	repeat(dst, 1)
}

// CopyStrided copies a box of the given shape (rank ≤ MaxRank) between two layouts: element
// (i₀, i₁, …) of the box is at Σ iₐ·stride[a] of dst and of x. It serves slice, pad, concat,
// broadcast (source stride 0) and general permutation.
func CopyStrided(dst []float32, dstStride []int, x []float32, xStride []int, shape []int) {
	for _, d := range shape {
		if d == 0 {
			return
		}
	}
	if len(shape) == 0 {
		dst[0] = x[0]
		return
	}
	last := len(shape) - 1
	n, sd, sx := shape[last], dstStride[last], xStride[last]
	rows := 1
	for _, d := range shape[:last] {
		rows *= d
	}
	var w walk
	for range rows {
		d, s := dst[w.offset(dstStride):], x[w.offset(xStride):]
		switch {
		case sd == 1 && sx == 1:
			copy(d[:n], s[:n])
		case sd == 1 && sx == 0:
			Fill(d[:n], s[0])
		default:
			for i := range n {
				d[i*sd] = s[i*sx]
			}
		}
		w.nextRow(shape)
	}
}

// RowMajor fills stride with the strides of a dense row-major tensor of the shape.
func RowMajor(stride, shape []int) { BroadcastStrides(stride, shape, shape) }

// GatherRows sets row i of dst to row index[i] of table (tableRows×cols). It gives the position of
// the first index outside the table, where it stops, and -1 when there is none.
func GatherRows(dst, table []float32, index []int32, tableRows, cols int) (bad int) {
	for i, r := range index {
		if r < 0 || int(r) >= tableRows {
			return i
		}
		copy(dst[i*cols:][:cols], table[int(r)*cols:][:cols])
	}
	return -1
}

// ScatterAddRows adds row i of x to row index[i] of table (tableRows×cols), in the order of i, for
// the table rows in [lo, hi): ranges of table rows can run in parallel and the result does not
// depend on how they are cut. It gives the position of the first index outside the table, where it
// stops, and -1 when there is none.
func ScatterAddRows(table, x []float32, index []int32, tableRows, cols, lo, hi int) (bad int) {
	for i, r := range index {
		if r < 0 || int(r) >= tableRows {
			return i
		}
		if int(r) >= lo && int(r) < hi {
			row := table[int(r)*cols:][:cols]
			run3(&addTab, row, row, x[i*cols:][:cols])
		}
	}
	return -1
}
