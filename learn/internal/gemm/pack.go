package gemm

// packRows copies n ≤ panel columns of k rows, stride floats apart, to rows of panel floats.
func packRows(dst, src []float32, n, k, stride int) {
	for i := range k {
		copy(dst[i*panel:i*panel+n], src[i*stride:i*stride+n])
	}
}

// packTransposed copies n ≤ panel rows of k floats, stride floats apart, to k rows of panel floats.
func packTransposed(dst, src []float32, n, k, stride int) {
	for j := range n {
		row := src[j*stride : j*stride+k]
		for i, v := range row {
			dst[i*panel+j] = v
		}
	}
}
