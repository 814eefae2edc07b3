package group

import "context"

// Register is a cell in a service outside of the group that changes by compare-and-swap only.
type Register interface {
	// Load returns the value and its revision, which is 0 while nothing was stored.
	Load(ctx context.Context) (value []byte, revision uint64, err error)
	// Swap stores a value if the revision is still the given one, and says whether it was.
	Swap(ctx context.Context, value []byte, revision uint64) (bool, error)
}

// Authority decides which view follows another. It is fixed when the group starts and never
// switched.
type Authority interface {
	// Propose asks that next, whose epoch is one more than that of the view in force, comes into
	// force. It returns the view that stands for next's epoch: next or one that came first.
	Propose(ctx context.Context, next View) (View, error)
}
