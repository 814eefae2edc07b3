package shm

import (
	"errors"
	"fmt"
)

// ErrClosed says that a door, team or comm was closed.
var ErrClosed = errors.New("shm: closed")

// NotSupportedError says why workers cannot share memory. All members of a view get one, and can use another way.
type NotSupportedError struct {
	What string // that could not be done
	Err  error  // why; may be nil
}

func (e *NotSupportedError) Error() string {
	if e.Err == nil {
		return "shm: not supported: " + e.What
	}
	return fmt.Sprintf("shm: not supported: %s: %v", e.What, e.Err)
}

func (e *NotSupportedError) Unwrap() error { return e.Err }

// Is makes any NotSupportedError match errors.ErrUnsupported.
func (e *NotSupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

func unsupported(what string, err error) error { return &NotSupportedError{What: what, Err: err} }

// MismatchError says that a member uses the memory differently than this one.
type MismatchError struct {
	Rank int    // of the other member
	What string // in words
}

func (e *MismatchError) Error() string { return fmt.Sprintf("shm: rank %d %s", e.Rank, e.What) }

// AsideError says that a member stood aside, so that there is no result.
type AsideError struct{ Rank int }

func (e *AsideError) Error() string { return fmt.Sprintf("shm: rank %d stands aside", e.Rank) }
