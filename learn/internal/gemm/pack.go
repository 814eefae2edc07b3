package gemm

import (
	"unsafe"

	"millrace.dev/internal/cpu"
)

const (
	// packGrain is the number of floats worth a chunk of packing.
	packGrain = 1 << 16
	// packCall bounds the rows or columns that one call into assembly packs.
	packCall = 512
	// streamedRows is the number of rows of C from which the panels that all chunks share are written past the caches:
	// lines that another core holds are slow to overwrite, several times so across third-level caches; fewer rows would
	// feel that their first user reads them from memory.
	streamedRows = 256
)

// packedWidth is the number of columns that n columns of a packed matrix occupy: panels of equal size, or less than one.
func packedWidth(n int) int {
	if n <= panel {
		return n
	}
	return roundUp(n, panel)
}

// packRows copies n ≤ panel columns of k rows, stride floats apart, to rows of panel floats.
func packRows(dst, src []float32, n, k, stride int) {
	if n < panel || cpu.Current() == cpu.Generic {
		for i := range k {
			copy(dst[i*panel:i*panel+n], src[i*stride:i*stride+n])
		}
		return
	}
	for i := 0; i < k; i += packCall {
		packRows32(&dst[i*panel], &src[i*stride], min(packCall, k-i), 4*stride)
	}
}

// streamRows is packRows past the caches where dst allows it.
func streamRows(dst, src []float32, n, k, stride int) {
	const width = 32 // bytes of a store
	if n < panel || cpu.Current() == cpu.Generic || uintptr(unsafe.Pointer(&dst[0]))%width != 0 {
		packRows(dst, src, n, k, stride)
		return
	}
	for i := 0; i < k; i += packCall {
		streamRows32(&dst[i*panel], &src[i*stride], min(packCall, k-i), 4*stride)
	}
}

// packTransposed copies n ≤ panel rows of k floats, stride floats apart, to the columns of k rows, pitch floats apart.
func packTransposed(dst, src []float32, n, k, stride, pitch int) {
	done := 0
	if cpu.Current() != cpu.Generic {
		for ; done+8 <= n; done += 8 {
			for i := 0; i < k; i += packCall {
				transpose8(&dst[i*pitch+done], &src[done*stride+i], min(packCall, k-i), 4*stride, 4*pitch)
			}
		}
	}
	for j := done; j < n; j++ {
		for i, v := range src[j*stride : j*stride+k] {
			dst[i*pitch+j] = v
		}
	}
}

// padRows copies rows of n floats, stride floats apart, to rows pitch floats apart.
func padRows(dst, src []float32, rows, n, stride, pitch int) {
	for i := range rows {
		copy(dst[i*pitch:i*pitch+n], src[i*stride:i*stride+n])
	}
}

// aliases reports whether so many of the rows of a tile, stride floats apart, fall into the same sets of a
// first-level cache that they evict each other.
func aliases(stride int) bool {
	const sets, line, rows, most = 64, 16, 14, 4
	var count [sets]int
	for i := range rows {
		set := i * stride / line % sets
		if count[set]++; count[set] > most {
			return true
		}
	}
	return false
}
