// Package cpu executes graphs on the cores of one machine.
//
// # From a graph to a step
//
// Compile optimises the graph, places every value (storage.go): params, gradients, slots and
// states in the flat vectors, constants in the program, all else in one arena, planned from the
// values' lifetimes (arena.go) so that a result takes the place of an operand that dies with it
// where the kernel allows. Each node is lowered to an op (lower.go and the lower_*.go files): a
// list of phases of independent chunks. An update that directly follows the product which
// computes its gradient is fused into it: each chunk, once its part of the gradient is stored,
// updates that part of the parameter while it is in the cache.
//
// NewReplica allocates the arena and binds every op to its slices, so that a run does no
// look-ups and no allocation. Run walks the ops; a phase with one chunk runs on the calling
// goroutine, others on the worker pool (pool.go), whose workers claim chunks by a counter.
//
// # Invariants
//
// What a chunk computes depends on shapes alone, and every reduction across chunks is added in
// the order of the chunks: the bits of a run do not depend on the number of threads or on who
// ran what. Labels and table rows are checked, and a loss is seen to be finite, before any
// parameter changes. Run allocates nothing.
//
// The pool belongs to the engine; its workers sleep when there is nothing to do and spin at
// most 20 µs before they sleep. One that wakes on its caller's core moves to another (Linux).
// Replicas that run at the same time share the pool: one has the helpers, the others run alone
// on their callers' goroutines.
package cpu
