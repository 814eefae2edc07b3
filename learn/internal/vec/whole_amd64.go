package vec

// AVX2 masks only elements of 32 bits. Kernels on narrower ones do whole vectors of 16 elements in
// assembly, and the functions of this file the rest in plain Go, which gives the same bits.

func maxPoolWhole(dst []float32, arg []uint8, x []float32, n, c, kh, kw, pixel, rowStep, tapStep, first, width int) {
	if c%16 != 0 {
		maxPoolGeneric(dst, arg, x, n, c, kh, kw, pixel, rowStep, tapStep, first, width)
		return
	}
	maxPoolAVX2(dst, arg, x, n, c, kh, kw, pixel, rowStep, tapStep, first, width)
}

func unpoolSetWhole(dx, dy []float32, arg []uint8, y []float32, n, c, kw, pixel, tapStep, first int) {
	if c%16 != 0 {
		unpoolSetGeneric(dx, dy, arg, y, n, c, kw, pixel, tapStep, first)
		return
	}
	unpoolSetAVX2(dx, dy, arg, y, n, c, kw, pixel, tapStep, first)
}

func unpoolAddWhole(dx, dy []float32, arg []uint8, y []float32, n, c, kw, pixel, tapStep, first int) {
	if c%16 != 0 {
		unpoolAddGeneric(dx, dy, arg, y, n, c, kw, pixel, tapStep, first)
		return
	}
	unpoolAddAVX2(dx, dy, arg, y, n, c, kw, pixel, tapStep, first)
}

func toFloat16Whole(dst []uint16, x []float32) {
	k := len(dst) &^ 15
	toFloat16AVX2(dst[:k], x[:k])
	toFloat16Generic(dst[k:], x[k:])
}

func toBFloat16Whole(dst []uint16, x []float32) {
	k := len(dst) &^ 15
	toBFloat16AVX2(dst[:k], x[:k])
	toBFloat16Generic(dst[k:], x[k:])
}

func fromFloat16Whole(dst []float32, x []uint16) {
	k := len(dst) &^ 15
	fromFloat16AVX2(dst[:k], x[:k])
	fromFloat16Generic(dst[k:], x[k:])
}

func fromBFloat16Whole(dst []float32, x []uint16) {
	k := len(dst) &^ 15
	fromBFloat16AVX2(dst[:k], x[:k])
	fromBFloat16Generic(dst[k:], x[k:])
}

// transposeWhole does 8×8 blocks in assembly on both instruction sets, and the edges in Go.
func transposeWhole(dst, x []float32, rows, cols, dstStride, xStride int) {
	r, c := rows&^7, cols&^7
	if r > 0 && c > 0 {
		transposeAVX2(dst, x, r, c, dstStride, xStride)
	}
	if r < rows {
		transposeGeneric(dst[r:], x[r*xStride:], rows-r, cols, dstStride, xStride)
	}
	if c < cols && r > 0 {
		transposeGeneric(dst[c*dstStride:], x[c:], r, cols-c, dstStride, xStride)
	}
}
