// Package tensor holds element types, shapes and dense row-major buffers.
//
// A Shape is validated once (no negative dimension, no product beyond MaxElems), after which
// sizes are plain ints. A Tensor owns or views one 64-byte aligned buffer and hands it out as
// a typed slice; it has no strides: every Tensor is contiguous.
package tensor
