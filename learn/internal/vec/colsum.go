package vec

import "math"

// ChunkRows is the largest number of rows that one call of a ...Partial function should take:
// within it sums run in float32, across calls in float64.
const ChunkRows = 4096

type colSumKernel = func(dst, x, mask []float32, rows, cols, stride int)

// SumCols sets dst[c] to the sum of column c of x (rows×cols).
func SumCols(dst, x []float32, rows, cols int) { sumCols(dst[:cols], x, nil, rows, cols, cols) }

// SumColsMasked sets dst[c] to the sum of x[r][c] over the rows r where mask[r][c] > 0: the
// gradient of a bias through the ReLU whose output is mask.
func SumColsMasked(dst, x, mask []float32, rows, cols int) {
	sumCols(dst[:cols], x, mask[:rows*cols], rows, cols, cols)
}

// sumCols sums columns of a matrix whose rows are stride apart.
func sumCols(dst, x, mask []float32, rows, cols, stride int) {
	clear(dst[:cols])
	t := &colSumTab
	if mask != nil {
		t = &colSumMaskedTab
	}
	f := t.pick()
	for c := 0; c < cols; c += block {
		wide := min(block, cols-c)
		step := rowBlock(wide, sumRows)
		for r := 0; r < rows; r += step {
			k := min(step, rows-r)
			at, end := r*stride+c, (r+k-1)*stride+c+wide
			xs, ms := x[at:end], mask
			if mask != nil {
				ms = mask[at:end]
			}
			f(dst[c:c+wide], xs, ms, k, wide, stride)
		}
	}
}

// SumPartials sets dst[i] to the sum over k < chunks of parts[k·len(dst)+i], in that order, in
// float64.
func SumPartials(dst, parts []float32, chunks int) {
	n := len(dst)
	for i := range dst {
		s := 0.0
		for k := range chunks {
			s += float64(parts[k*n+i])
		}
		dst[i] = float32(s)
	}
}

func colSumGeneric(dst, x, _ []float32, rows, cols, stride int) {
	for r := range rows {
		row := x[r*stride:][:cols]
		for c, v := range row {
			dst[c] += v
		}
	}
}

func colSumMaskedGeneric(dst, x, mask []float32, rows, cols, stride int) {
	for r := range rows {
		row, ms := x[r*stride:][:cols], mask[r*stride:][:cols]
		for c, v := range row {
			if ms[c] > 0 {
				dst[c] += v
			}
		}
	}
}

func sqrt32(x float64) float32 { return float32(math.Sqrt(x)) }
