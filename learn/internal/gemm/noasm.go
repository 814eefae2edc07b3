//go:build !amd64

package gemm

// Machines without assembly never call these: cpu.Best is Generic there.

func avx2Tile(id int, t *tile)                                 { genericTile(id, t) }
func avx512Tile(id int, t *tile)                               { genericTile(id, t) }
func avx2Dots(id int, d *dots)                                 { genericDots(id, d) }
func avx512Dots(id int, d *dots)                               { genericDots(id, d) }
func packRows32(dst, src *float32, rows, stride int)           {}
func streamRows32(dst, src *float32, rows, stride int)         {}
func transpose8(dst, src *float32, columns, stride, pitch int) {}
func avx2Peak(int)                                             {}
func avx512Peak(int)                                           {}
