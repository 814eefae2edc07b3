//go:build !amd64

package gemm

// Machines without assembly never select these: cpu.Best is Generic there.

func avx2Tile(id int, t *tile)   { genericTile(id, t) }
func avx512Tile(id int, t *tile) { genericTile(id, t) }
func avx2Peak(int)               {}
func avx512Peak(int)             {}
