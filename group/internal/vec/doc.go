// Package vec holds the sums that workers compute over each other's gradients, on float32, and how long results are
// copied.
//
// A kernel exists three times, in plain Go (…Generic), for AVX2 and for AVX-512; the best that the machine has, or
// that MILLRACE_CPU=generic|avx2|avx512 asks for, is used. All three round each product before they add it and keep
// denormals, so that they give the same bits, NaNs apart (which NaN comes out of two is not defined). That is what
// lets machines of different make end a step with the same sum, and a log replay it anywhere.
//
// The destination may be the same memory as an operand, not shifted. Operands at least as long as the
// destination are the caller's to provide: a short one panics like any Go slice expression, before memory is
// touched. Nothing allocates. As assembly cannot be preempted, one call of it takes at most block elements.
//
// The module in _asm generates the assembly and its declarations (go generate).
package vec
