// Package vec holds the single-threaded CPU kernels of everything that is not a matrix product:
// elementwise functions, reductions, normalisation, softmax and losses, pooling, data movement,
// optimisers and counter-based random numbers, on float32.
//
// # Interface
//
// A function works on a range given as slices or as [lo, hi) of rows; it starts no goroutine and
// allocates nothing. The caller cuts an operation into ranges, runs them on its own threads in
// any order, and joins partial results with SumPartials, BatchNormFinish or BatchNormGradFinish,
// which add in index order in float64. Only where there are partial sums does the cut change a
// result: cut by shape alone and every number of threads gives the same bits.
//
// In elementwise functions the destination's length is the range; other operands are at least as
// long, and the destination may be the same memory as an operand, not shifted. Matrices are dense
// and row-major, images NHWC. Shapes are the caller's to check: a slice that is too short panics
// like any Go slice expression, before memory is touched. Indices that come from data (labels,
// rows of a table) are checked here: CrossEntropy, CountLabels, GatherRows and ScatterAddRows give
// the position of the first bad one, -1 when there is none. Pool.Check says what is wrong with a
// window.
//
// # Kernels
//
// A kernel exists three times, in plain Go (…Generic), for AVX2+FMA and for AVX-512, and each call
// picks one by cpu.Current from the tables of tables_amd64.go. The module in _asm generates the
// assembly, the tables and the declarations (go generate) from one description of each kernel on
// vectors of 16 logical lanes: one register on AVX-512, a pair on AVX2. Both therefore do the same
// operations in the same order and give the same bits. Reductions keep up to 4×16 partial sums and
// fold them by one fixed tree. Plain Go agrees up to rounding, as it does not fuse multiply and
// add; random numbers have the same bits everywhere.
//
// Assembly flushes denormals, read or made, to zero and restores MXCSR at exit. Tails are masked,
// except that AVX2 leaves tails of elements narrower than 32 bits to Go (whole_amd64.go). As
// assembly cannot be preempted, one call takes at most about 8192 elements, or four rows of a batch
// norm with more than 2048 channels: some 20 µs when memory is slow.
//
// Errors, in units in the last place over all float32: Exp 0.94, Log 0.75, Tanh 1.06, Sigmoid 1.97.
//
// # Plain Go by choice
//
// Strided broadcasting, reductions over several groups of axes, strided copies and permutations
// other than exchanges of two groups of axes are loops around the kernels. Labels, elementwise
// losses, ArgMax and the joins of partial sums touch few numbers: in training steps of the MLP,
// LeNet and ResNet-20 all plain Go of this package stays under 1 % of the time, while its assembly
// takes 44 % (MLP, batch 1: the optimiser) to some 9 % (LeNet, ResNet-20). BenchmarkKernels prints
// each kernel's rate beside that of a copy.
package vec
