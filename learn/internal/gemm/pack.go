package gemm

// packRows copies n ≤ panel columns of k rows, stride floats apart, to rows of panel floats.
func packRows(dst, src []float32, n, k, stride int) {
	for i := range k {
		copy(dst[i*panel:i*panel+n], src[i*stride:i*stride+n])
	}
}

// packGrain is the number of floats worth a chunk of packing.
const packGrain = 1 << 16

// packedWidth is the number of columns that n columns of a packed matrix occupy: panels of equal size, or less than one.
func packedWidth(n int) int {
	if n <= panel {
		return n
	}
	return roundUp(n, panel)
}

// packTransposed copies n ≤ panel rows of k floats, stride floats apart, to the columns of k rows, pitch floats apart.
func packTransposed(dst, src []float32, n, k, stride, pitch int) {
	for j := range n {
		row := src[j*stride : j*stride+k]
		for i, v := range row {
			dst[i*pitch+j] = v
		}
	}
}
