// Package oracle is the engine that says what is right: plain Go loops in float64, one function
// an operation, no fusion of its own and no reuse of memory. Faster engines are tested against it.
//
// A run loads inputs, params and states from their float32 places, computes every value in
// float64, and rounds only what leaves: outputs, gradients in the gradient vector, updated
// params, slots and states. Updates read the gradients back from the vector, so that a split
// step and an unsplit one give the same bits. What is smaller than the smallest normal float32
// counts as zero on the way in and out. Nothing is written to the vectors by a run that fails,
// except gradients.
//
// Eval computes a graph once with float64 bindings and no rounding at all, for comparing
// gradients with differences of the loss.
//
// The kernels table maps operations to functions; operations that a user registered go through
// their Forward in float32. Only dropout is taken from elsewhere: its mask is that of
// learn/internal/vec, since two engines must agree on random bits.
package oracle
