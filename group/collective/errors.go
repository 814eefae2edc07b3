package collective

import (
	"errors"
	"fmt"
)

// What can end a call besides completion, for errors.Is.
var (
	// ErrMismatch: members call the same name with different operations, types or sizes.
	ErrMismatch = errors.New("the members do not agree")
	// ErrCancelled: a member gave the call up.
	ErrCancelled = errors.New("given up")
	// ErrGone: the connection to a member is lost.
	ErrGone = errors.New("the member is gone")
	// ErrInvalid: the request makes no sense on some member.
	ErrInvalid = errors.New("invalid request")
)

// Error is why a call failed. All members get it, but for lost connections.
type Error struct {
	Name string // of the call; empty if every call is ended
	Rank int    // of the member at fault
	Text string // what happened, in words
	Err  error  // one of the errors above
}

func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("collective: %v: %s", e.Err, e.Text)
	}
	return fmt.Sprintf("collective %q: %v: %s", e.Name, e.Err, e.Text)
}

// Unwrap returns the kind of failure.
func (e *Error) Unwrap() error { return e.Err }
