package cluster

import (
	"context"
	"errors"
)

// Register is one record seen as a cell that changes by compare-and-swap only,
// such as the newest view of a job.
type Register struct {
	c   *Cluster
	key string
}

// Register returns the cell with the given key.
func (c *Cluster) Register(key string) *Register { return &Register{c, key} }

// Load returns the value and its revision, which is 0 while nothing is stored.
func (r *Register) Load(ctx context.Context) ([]byte, uint64, error) {
	e, err := r.c.Get(ctx, r.key)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, nil
	}
	return e.Value, e.Revision, err
}

// Swap stores a value if the revision is still the given one, and says whether
// it was. After an *UnknownError, Load tells.
func (r *Register) Swap(ctx context.Context, value []byte, revision uint64) (bool, error) {
	_, err := r.c.Swap(ctx, r.key, revision, value)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return false, nil
	}
	return err == nil, err
}
