package gemm

import "unsafe"

// genericLanes is the vector length that plain Go pretends to have.
const genericLanes = 8

// genericTile is the kernel of every shape in plain Go.
func genericTile(id int, t *tile) {
	nv, mr := id/64, id%laneID
	n := (nv-1)*genericLanes + t.lanes
	lane := id&laneID != 0
	for i := range t.nt {
		for m := range mr {
			row := i*t.ct + m*t.cm
			var sums [8 * genericLanes]float32
			acc := sums[:n]
			c := floats(t.c, row, n)
			if t.flags&flagLoad != 0 {
				copy(acc, c)
			}
			a, b := i*t.at+m*t.am, i*t.bt
			for range t.nj {
				for range t.nk {
					if lane {
						genericLane(acc, floats(t.b, b, n), floats(t.a, a, n))
					} else {
						genericBroadcast(acc, floats(t.b, b, n), *(*float32)(unsafe.Add(t.a, a)))
					}
					a += t.ak
					b += t.bk
				}
				a += t.aj
				b += t.bj
			}
			genericEpilogue(acc, t, i, row)
			copy(c, acc)
		}
	}
}

// genericBroadcast adds one element of A times a row of B.
func genericBroadcast(acc, b []float32, x float32) {
	b = b[:len(acc)]
	for i := range acc {
		acc[i] += float32(x * b[i])
	}
}

// genericLane adds a row of A times a row of B, lane by lane.
func genericLane(acc, b, x []float32) {
	b, x = b[:len(acc)], x[:len(acc)]
	for i := range acc {
		acc[i] += float32(x[i] * b[i])
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
