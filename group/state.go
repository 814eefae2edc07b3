package group

// State is what makes a joiner equal to the members: parameters, optimiser, schedule. It is a
// sequence of bytes that is the same on all members after the same step. The group itself carries
// the step's number and the ledger of samples.
//
// Members call Size and ReadAt on the goroutine of Begin or Commit, after the update of the last
// committed step and before the next one; each copies only its stripe. A joiner's WriteAt is called
// while its Begin waits, one call at a time.
type State interface {
	// Size is the number of bytes.
	Size() int64
	// ReadAt fills p with the bytes from off on.
	ReadAt(p []byte, off int64) error
	// Restore announces size bytes that follow in any order.
	Restore(size int64) error
	// WriteAt takes some of them.
	WriteAt(p []byte, off int64) error
	// Restored says that all have come: the state is that after the given step.
	Restored(step uint64) error
}
