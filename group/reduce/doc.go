// Package reduce says what it is to reduce the gradients of one training step, whatever carries the bytes.
//
// Each of the n members of a view has a flat vector g of float32 gradients, which stays as it is until the step is
// committed, and a weight m, its number of samples. All of them compute the same vector
//
//	r = (Σ mᵢ·gᵢ) · float32(1/M),   M = Σ mᵢ
//
// with each product rounded before it is added, members of weight 0 left out, and r = 0 when M is 0. r is a vector
// of its own: a step that is interrupted can be reduced again over other members from the same g.
//
// The order of the sum is a pure function ([Spans]) of the [Algorithm], the number of members and the length of the
// vector, so that [Serial] gives the same bits on one machine as the members did together. Each element is summed
// once, by one member, and copied to the others: all members end with identical bits.
//
// A [Reducer] serves one view. The vector is cut in chunks of [Chunk] elements; a chunk starts when [Reducer.Ready]
// has covered it, in whatever order backward propagation gets there. The weight M and whether r is finite travel
// with the data, so that every member that has r also knows its [Facts].
//
// Package collective implements it over connections, package shm over memory that the workers of one machine
// share; the driver passes them what connections receive.
package reduce
