// Package engine is the seam between a graph and what executes it.
//
// An Engine compiles a graph.Graph into a Program, which is immutable and shared. A Program
// makes Replicas: each has an arena of its own for what is computed in between and works on
// Vectors, the flat weights, gradients, optimiser slots and states of one model. Several
// replicas of several programs may use the same Vectors (training and evaluation), as long as
// they do not run at the same time; replicas on different Vectors run at the same time freely.
//
// The Layout places every param in the flat vectors in backward order: the params that the
// forward pass reaches last, whose gradients are complete first, stand first. So gradient
// buckets, contiguous ranges of the gradient vector, complete from the front to the back while
// the backward pass goes on, and a replica calls OnBucket for each.
//
// A step is one Run: all stages at once, or, with Options.SplitUpdate, Backward (which ends with
// all gradients in place), then whatever the caller does to the gradients, then Update. Without
// SplitUpdate a gradient that only its update needs may never reach the gradient vector: it is
// used up in the cache, and what stands in its place is left open. Run allocates nothing,
// and gives the same bits for any number of threads.
//
// Failures of a run (a label out of range, a loss or gradient norm that is not finite) are
// *RunError with the layer's path; they are detected before any weight is changed, so the
// weights are then those of before the step.
package engine
