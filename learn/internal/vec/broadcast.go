package vec

// MaxRank is the largest number of axes of a strided operand.
const MaxRank = 8

// BinaryRows sets each row of dst (rows×cols) to the row of x op y, the same row vector y for
// all. Adding a bias goes faster through AffineRows.
func BinaryRows(op Op, dst, x, y []float32, rows, cols int) {
	for r := range rows {
		Binary(op, dst[r*cols:][:cols], x[r*cols:][:cols], y[:cols])
	}
}

// BinaryCols sets each row r of dst (rows×cols) to the row of x op y[r].
func BinaryCols(op Op, dst, x, y []float32, rows, cols int) {
	for r := range rows {
		BinaryScalar(op, dst[r*cols:][:cols], x[r*cols:][:cols], y[r])
	}
}

// BinaryStrided computes elements [lo, hi), in row-major order, of dst = x op y for a dst of the
// given shape (rank ≤ MaxRank). Operands have a stride for each axis, 0 where they are broadcast.
func BinaryStrided(op Op, dst []float32, shape []int, x []float32, xStride []int, y []float32, yStride []int, lo, hi int) {
	if len(shape) == 0 {
		if lo < hi {
			dst[0] = op.eval(x[0], y[0])
		}
		return
	}
	last := len(shape) - 1
	sx, sy := xStride[last], yStride[last]
	var w walk
	for w.seek(shape, lo); lo < hi; {
		n := min(shape[last]-w.index[last], hi-lo)
		xs, ys := x[w.offset(xStride):], y[w.offset(yStride):]
		switch d := dst[lo : lo+n]; {
		case sx == 1 && sy == 1:
			Binary(op, d, xs, ys)
		case sx == 1 && sy == 0:
			BinaryScalar(op, d, xs, ys[0])
		case sx == 0 && sy == 1:
			ScalarBinary(op, d, xs[0], ys)
		default:
			for i := range d {
				d[i] = op.eval(xs[i*sx], ys[i*sy])
			}
		}
		lo += n
		w.nextRow(shape)
	}
}

// BroadcastStrides fills stride with the row-major strides of an operand of shape from, aligned
// at the right with shape as NumPy does; axes of size 1 and missing axes get 0.
func BroadcastStrides(stride, from, shape []int) {
	step, lead := 1, len(shape)-len(from)
	for i := len(shape) - 1; i >= 0; i-- {
		stride[i] = 0
		if i >= lead && from[i-lead] != 1 {
			stride[i] = step
			step *= from[i-lead]
		}
	}
}

// walk steps through the indices of a shape in row-major order.
type walk struct{ index [MaxRank]int }

// seek goes to the flat element i of shape.
func (w *walk) seek(shape []int, i int) {
	for a := len(shape) - 1; a >= 0; a-- {
		if d := shape[a]; d > 0 {
			w.index[a], i = i%d, i/d
		}
	}
}

// offset is the position of the current index under the strides.
func (w *walk) offset(stride []int) int {
	at := 0
	for a, s := range stride {
		at += w.index[a] * s
	}
	return at
}

// nextRow goes to the start of the next row along the last axis.
func (w *walk) nextRow(shape []int) {
	w.index[len(shape)-1] = 0
	for a := len(shape) - 2; a >= 0; a-- {
		if w.index[a]++; w.index[a] < shape[a] {
			return
		}
		w.index[a] = 0
	}
}
