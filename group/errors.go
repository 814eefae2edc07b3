package group

import (
	"errors"
	"fmt"
)

// ErrLeft says that this worker has left the group in good order.
var ErrLeft = errors.New("the worker has left the group")

// ErrLeftLast is an ErrLeft after which nobody goes on who has the group's state: this worker is the one to keep it.
var ErrLeftLast = fmt.Errorf("%w, as the last that has its state", ErrLeft)

// ErrClosed says that the worker was closed.
var ErrClosed = errors.New("the worker is closed")

// DivergedError says that members which should be equal are not.
type DivergedError struct {
	Step   uint64 // the members differ before this step
	Hashes map[string]uint64
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("the members' parameters differ before step %d: %x", e.Step, e.Hashes)
}

// PlanError says that a member reduces another vector than this worker.
type PlanError struct {
	Member string
	Rank   int
	What   string // in words: the tensor and how it differs
}

func (e *PlanError) Error() string {
	return fmt.Sprintf("member %q (rank %d) reduces another gradient: %s", e.Member, e.Rank, e.What)
}

// RefusedError says why no member let this worker in.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the group refused this worker: " + e.Reason }

// ViewChangedError ends a named call that was under way when the members changed, or was made after that. After the next
// Commit calls are made in the view that follows; see Worker.Call.
type ViewChangedError struct{ Epoch uint64 }

func (e *ViewChangedError) Error() string {
	return fmt.Sprintf("the members changed (epoch %d)", e.Epoch)
}
