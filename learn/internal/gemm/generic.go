package gemm

import "unsafe"

// genericWidth is the vector length that plain Go pretends to have.
const genericWidth = 8

// genericTile is the kernel of every shape in plain Go.
func genericTile(id int, t *tile) {
	nv, mr := id/64, id%laneID
	n := (nv-1)*genericWidth + t.lanes
	lane := id&laneID != 0
	for i := range t.nt {
		for m := range mr {
			row := i*t.ct + m*t.cm
			var sums [8 * genericWidth]float32
			acc := sums[:n]
			c := floats(t.c, row, n)
			if t.flags&flagLoad != 0 {
				copy(acc, c)
			}
			a, b := i*t.at+m*t.am, i*t.bt
			for range t.nj {
				if lane {
					genericLanes(acc, t, a, b)
				} else {
					genericBroadcasts(acc, t, a, b)
				}
				a += t.nk*t.ak + t.aj
				b += t.nk*t.bk + t.bj
			}
			genericEpilogue(acc, t, i, row)
			copy(c, acc)
		}
	}
}

// genericBroadcasts adds nk elements of A from byte offset a times the rows of B from b. Four rows share one pass over
// the sums, each of which takes their products in order.
func genericBroadcasts(acc []float32, t *tile, a, b int) {
	element := func(k int) float32 { return *(*float32)(unsafe.Add(t.a, a+k*t.ak)) }
	row := func(k int) []float32 { return floats(t.b, b+k*t.bk, len(acc)) }
	k := 0
	for ; k+4 <= t.nk; k += 4 {
		x0, x1, x2, x3 := element(k), element(k+1), element(k+2), element(k+3)
		b0, b1, b2, b3 := row(k), row(k+1), row(k+2), row(k+3)
		b0, b1, b2, b3 = b0[:len(acc)], b1[:len(acc)], b2[:len(acc)], b3[:len(acc)]
		for i, v := range acc {
			v += float32(x0 * b0[i])
			v += float32(x1 * b1[i])
			v += float32(x2 * b2[i])
			v += float32(x3 * b3[i])
			acc[i] = v
		}
	}
	for ; k < t.nk; k++ {
		x := element(k)
		for i, v := range row(k) {
			acc[i] += float32(x * v)
		}
	}
}

// genericLanes adds nk rows of A from byte offset a times the rows of B from b, lane by lane.
func genericLanes(acc []float32, t *tile, a, b int) {
	for k := range t.nk {
		x, y := floats(t.a, a+k*t.ak, len(acc)), floats(t.b, b+k*t.bk, len(acc))
		x, y = x[:len(acc)], y[:len(acc)]
		for i := range acc {
			acc[i] += float32(x[i] * y[i])
		}
	}
}

// genericEpilogue applies bias, residual, ReLU and mask to the row of tile i at byte offset row.
func genericEpilogue(acc []float32, t *tile, i, row int) {
	if t.bias != nil {
		for j, v := range floats(t.bias, i*t.biasTiles, len(acc)) {
			acc[j] += v
		}
	}
	if t.res != nil {
		for j, v := range floats(t.res, row, len(acc)) {
			acc[j] += v
		}
	}
	if t.flags&flagReLU != 0 {
		for j, v := range acc {
			if v < 0 {
				acc[j] = 0
			}
		}
	}
	if t.mask != nil {
		for j, v := range floats(t.mask, row, len(acc)) {
			if !(v > 0) {
				acc[j] = 0
			}
		}
	}
}

// floats returns n floats at a byte offset from p.
func floats(p unsafe.Pointer, offset, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(p, offset)), n)
}
