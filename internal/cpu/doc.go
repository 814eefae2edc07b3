// Package cpu says which vector instructions the compute kernels may use and how large the data caches are.
//
// [Best] is what the processor and the operating system support. [Current] is what the kernels use: the best level,
// or a lower one asked for by MILLRACE_CPU=generic|avx2|avx512. A level that is unknown or that the machine lacks
// is ignored, and [Err] says so; a program reports that text to its user. Kernels read Current at every call, so
// that a test may run the same plan at every level with [Set].
//
// AVX2 and AVX512 kernels give equal bits. What Generic ones give is said by their package: the same, or what
// differs from it by the rounding of a fused multiply-add.
package cpu
