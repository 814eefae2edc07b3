package vec

// mapRows and sumRows are the rows that one call takes of a wide matrix. Its kernels run down panels
// of columns: with few rows at a time they read each matrix as few contiguous streams, and the numbers
// of a column are still loaded once for all of them.
const mapRows, sumRows = 4, 8

// rowBlock is the number of rows that one call of a kernel over a matrix takes, wide if it is wide.
func rowBlock(cols, wide int) int {
	if cols >= 128 {
		return wide
	}
	return block / max(cols, 1)
}

type affineKernel = func(dst, x, res, mean, scale, shift []float32, rows, cols int)

// AffineRows sets dst = (x - mean)·scale + shift + res, then max(·, 0) if relu, for rows×cols
// matrices dst, x and res and vectors mean, scale and shift of one number a column. Any of res,
// mean, scale, shift may be nil: no residual, 0, 1, 0. It serves bias (shift alone), batch norm
// in training (mean, γ/σ, β) and in inference (nil, scale, shift).
func AffineRows(dst, x, res, mean, scale, shift []float32, rows, cols int, relu bool) {
	n := rows * cols
	dst, x = dst[:n], x[:n]
	t := &affineRowsTab
	switch {
	case res == nil && relu:
		t = &affineReLURowsTab
	case res != nil && relu:
		t, res = &affineAddReLURowsTab, res[:n]
	case res != nil:
		t, res = &affineAddRowsTab, res[:n]
	}
	checkCols(cols, mean, scale, shift)
	f := t.pick()
	if cols > block {
		affineLong(f, dst, x, res, mean, scale, shift, rows, cols)
		return
	}
	step := rowBlock(cols, mapRows)
	for r := 0; r < rows; r += step {
		k := min(step, rows-r)
		f(dst[r*cols:], x[r*cols:], tail(res, r*cols), mean, scale, shift, k, cols)
	}
}

// affineLong does rows that are too long for one call.
func affineLong(f affineKernel, dst, x, res, mean, scale, shift []float32, rows, cols int) {
	for r := range rows {
		for c := 0; c < cols; c += block {
			at := r*cols + c
			f(dst[at:], x[at:], tail(res, at), tail(mean, c), tail(scale, c), tail(shift, c), 1, min(block, cols-c))
		}
	}
}

// checkCols panics, as a slice expression, when a vector that is not nil has less than n elements.
func checkCols(n int, vs ...[]float32) {
	for _, v := range vs {
		if v != nil {
			_ = v[:n]
		}
	}
}

// tail is v[from:], or nil when v is nil.
func tail(v []float32, from int) []float32 {
	if v == nil {
		return nil
	}
	return v[from:]
}

func affineRowsGeneric(dst, x, _, mean, scale, shift []float32, rows, cols int) {
	affineRows(dst, x, nil, mean, scale, shift, rows, cols, false)
}

func affineReLURowsGeneric(dst, x, _, mean, scale, shift []float32, rows, cols int) {
	affineRows(dst, x, nil, mean, scale, shift, rows, cols, true)
}

func affineAddRowsGeneric(dst, x, res, mean, scale, shift []float32, rows, cols int) {
	affineRows(dst, x, res, mean, scale, shift, rows, cols, false)
}

func affineAddReLURowsGeneric(dst, x, res, mean, scale, shift []float32, rows, cols int) {
	affineRows(dst, x, res, mean, scale, shift, rows, cols, true)
}

// affineRows takes the columns in blocks and keeps a block's numbers, or what stands for absent
// ones, in arrays, so that the loop over a row is free of choices.
func affineRows(dst, x, res, mean, scale, shift []float32, rows, cols int, relu bool) {
	var m, k, b [64]float32
	for c := 0; c < cols; c += len(m) {
		n := min(len(m), cols-c)
		columns(&m, mean, c, n, 0)
		columns(&k, scale, c, n, 1)
		columns(&b, shift, c, n, 0)
		for r := range rows {
			at := r*cols + c
			d := dst[at : at+n]
			if res == nil {
				for i, v := range x[at : at+n] {
					j := i % len(m)
					d[i] = (v-m[j])*k[j] + b[j]
				}
			} else {
				rs := res[at : at+n]
				for i, v := range x[at : at+n] {
					j := i % len(m)
					d[i] = (v-m[j])*k[j] + b[j] + rs[i]
				}
			}
			if relu {
				reluGeneric(d, d)
			}
		}
	}
}

// columns copies n numbers of v from c on, or fills in what stands for a nil v.
func columns(to *[64]float32, v []float32, c, n int, absent float32) {
	if v != nil {
		copy(to[:n], v[c:])
		return
	}
	for i := range to {
		to[i] = absent
	}
}
