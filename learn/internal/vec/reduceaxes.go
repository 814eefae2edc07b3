package vec

// Reduction names what ReduceAxes computes.
type Reduction uint8

// The reductions over axes.
const (
	ReduceSum Reduction = iota
	ReduceMean
	ReduceMax
)

// ReduceAxes computes outputs [lo, hi), in row-major order of the kept axes, of the reduction of
// x over the axes where reduced is true. Shape has rank ≤ MaxRank. One group of neighbouring
// axes is summed by the vector kernels, other choices in plain Go.
func ReduceAxes(op Reduction, dst, x []float32, shape []int, reduced []bool, lo, hi int) {
	if lo >= hi {
		return
	}
	var a axes
	a.split(shape, reduced)
	switch {
	case a.count == 0: // nothing to read, and nowhere to read it from
		a.reduceAny(op, dst, x, lo, hi)
	case a.trailing():
		a.reduceRows(op, dst, x, lo, hi)
	case a.middle() && op != ReduceMax:
		a.reduceCols(op, dst, x, lo, hi)
	default:
		a.reduceAny(op, dst, x, lo, hi)
	}
}

// axes are a shape with its neighbouring axes of one kind merged, split in kept and reduced.
type axes struct {
	keep, red             [MaxRank]int // sizes
	keepStride, redStride [MaxRank]int
	keeps, reds           int
	count                 int  // elements reduced into one output
	lastReduced           bool // whether the innermost axis is reduced
}

func (a *axes) split(shape []int, reduced []bool) {
	stride := 1
	a.count = 1
	prev := -1 // kind of the axis to the right: 0 kept, 1 reduced
	for i := len(shape) - 1; i >= 0; i-- {
		d := shape[i]
		kind := 0
		size, strides, n := &a.keep, &a.keepStride, &a.keeps
		if reduced[i] {
			kind = 1
			size, strides, n = &a.red, &a.redStride, &a.reds
			a.count *= d
		}
		switch {
		case d == 1:
			continue
		case kind == prev:
			size[*n-1] *= d
		default:
			if prev < 0 {
				a.lastReduced = kind == 1
			}
			size[*n], strides[*n] = d, stride
			*n++
		}
		stride *= d
		prev = kind
	}
}

func (a *axes) trailing() bool { return a.reds == 0 || a.reds == 1 && a.lastReduced && a.keeps <= 1 }
func (a *axes) middle() bool   { return a.reds == 1 && !a.lastReduced && a.keeps <= 2 }

func (a *axes) reduceRows(op Reduction, dst, x []float32, lo, hi int) {
	for o := lo; o < hi; o++ {
		row := x[o*a.count:][:a.count]
		switch op {
		case ReduceSum:
			dst[o] = float32(Sum(row))
		case ReduceMean:
			dst[o] = float32(Sum(row) / float64(a.count))
		case ReduceMax:
			dst[o] = Max(row)
		}
	}
}

// reduceCols reduces the middle axis of outer×rows×cols.
func (a *axes) reduceCols(op Reduction, dst, x []float32, lo, hi int) {
	rows, cols := a.red[0], a.keep[0]
	for lo < hi {
		outer, c := lo/cols, lo%cols
		n := min(cols-c, hi-lo)
		d := dst[lo : lo+n]
		sumCols(d, x[outer*rows*cols+c:], rows, n, cols)
		if op == ReduceMean {
			BinaryScalar(OpDiv, d, d, float32(rows))
		}
		lo += n
	}
}

func (a *axes) reduceAny(op Reduction, dst, x []float32, lo, hi int) {
	for o := lo; o < hi; o++ {
		base := position(o, a.keep[:a.keeps], a.keepStride[:a.keeps])
		sum, top := 0.0, -inf32
		inner, step := 1, 0
		if a.reds > 0 {
			inner, step = a.red[0], a.redStride[0]
		}
		for r := 0; r < a.count; r += inner {
			at := base + position(r, a.red[:a.reds], a.redStride[:a.reds])
			for i := range inner {
				v := x[at+i*step]
				sum += float64(v)
				top = max(top, v)
			}
		}
		switch op {
		case ReduceSum:
			dst[o] = float32(sum)
		case ReduceMean:
			dst[o] = float32(sum / float64(a.count))
		case ReduceMax:
			dst[o] = top
		}
	}
}

// position turns a flat index over sizes, innermost first, into an offset.
func position(i int, size, stride []int) int {
	at := 0
	for k, d := range size {
		at += i % d * stride[k]
		i /= d
	}
	return at
}
