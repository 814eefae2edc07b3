package gemm

// packRows32 copies rows of 32 floats, stride bytes apart, one after another.
//
//go:noescape
func packRows32(dst, src *float32, rows, stride int)

// streamRows32 is packRows32 past the caches; dst is a multiple of 32.
//
//go:noescape
func streamRows32(dst, src *float32, rows, stride int)

// transpose8 writes the columns of eight rows, stride bytes apart, as rows of eight floats, pitch bytes apart.
//
//go:noescape
func transpose8(dst, src *float32, columns, stride, pitch int)
