package train

import "context"

// Reducer combines the gradients of workers that train as one. Its methods are called on the
// goroutine of Run.
type Reducer interface {
	// Ready gives a bucket of the gradient vector that is complete, while the rest is still
	// being computed. Buckets come in the same order on every worker; the reducer may change
	// the numbers until Wait returns.
	Ready(offset int, gradients []float32)
	// Wait returns when all buckets of the step are combined.
	Wait(ctx context.Context) error
}

// reduceBucket is the size from which neighbouring gradients are handed on together: large
// enough to fill a network frame, small enough to overlap with the backward pass.
const reduceBucket = 1 << 20
