// Package enginetest is the compliance suite of engines: Run tests that an engine computes what
// the oracle computes and keeps the promises of the engine package.
//
// A Case is a small graph around one operation; Cases lists them, and the oracle's own tests
// compare the gradients of the same cases with differences of the loss. Both engines run a case
// with the same numbers, and every output, gradient and changed state is compared. The bound on
// the error follows from how many terms were added up on the way to a value (see terms), so
// that a wrong tail or a dropped term shows, and rounding in another order does not.
//
// Nets are whole training steps with updates, and RandomGraph draws graphs that nobody would
// write. The other tests pin behaviour: errors and what they leave untouched, stages, buckets,
// replicas at the same time, equal bits for any number of threads, no allocation, operations of a
// user, traces.
package enginetest
