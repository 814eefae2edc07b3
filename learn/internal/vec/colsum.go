package vec

import "math"

// ChunkRows is the largest number of rows that one call of a ...Partial function should take:
// within it sums run in float32, across calls in float64.
const ChunkRows = 4096

type colSumKernel = func(dst, x []float32, rows, cols, stride int)

// SumCols sets dst[c] to the sum of column c of x (rows×cols).
func SumCols(dst, x []float32, rows, cols int) { sumCols(dst[:cols], x, rows, cols, cols) }

// sumCols sums columns of a matrix whose rows are stride apart.
func sumCols(dst, x []float32, rows, cols, stride int) {
	clear(dst[:cols])
	f := colSumTab.pick()
	for c := 0; c < cols; c += block {
		wide := min(block, cols-c)
		step := rowBlock(wide, sumRows)
		for r := 0; r < rows; r += step {
			k := min(step, rows-r)
			at, end := r*stride+c, (r+k-1)*stride+c+wide
			f(dst[c:c+wide], x[at:end], k, wide, stride)
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

func colSumGeneric(dst, x []float32, rows, cols, stride int) {
	for r := range rows {
		row := x[r*stride:][:cols]
		for c, v := range row {
			dst[c] += v
		}
	}
}

func sqrt32(x float64) float32 { return float32(math.Sqrt(x)) }
