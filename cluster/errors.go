package cluster

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that no record has the key.
	ErrNotFound = errors.New("no such record")

	// ErrUnavailable says that no server answered in time; nothing was changed.
	ErrUnavailable = errors.New("cluster is unavailable")

	// ErrClosed says that the connection was closed by its owner.
	ErrClosed = errors.New("cluster is closed")

	// ErrLost says that a watch cannot go on without a gap: the servers forgot
	// deletions it has not seen, or the store is another one. Watch again.
	ErrLost = errors.New("changes were lost")

	// ErrExpired says that a lease was not renewed in time.
	ErrExpired = errors.New("lease expired")
)

// ConflictError says that a record was not changed because it is not as the
// caller saw it.
type ConflictError struct {
	Key      string
	Expected uint64 // the caller's revision; 0: no record
	Current  Entry  // the record as it is now; Revision 0: there is none
}

func (e *ConflictError) Error() string {
	switch {
	case e.Current.Revision == 0:
		return fmt.Sprintf("%s: expected revision %d, but there is no record", e.Key, e.Expected)
	case e.Expected == 0:
		return fmt.Sprintf("%s: exists already, at revision %d", e.Key, e.Current.Revision)
	}
	return fmt.Sprintf("%s: expected revision %d, found %d", e.Key, e.Expected, e.Current.Revision)
}

// UnknownError says that a change may or may not have been made, or may still
// be made.
type UnknownError struct {
	Key   string
	Cause error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s: unknown whether it was changed: %v", e.Key, e.Cause)
}

func (e *UnknownError) Unwrap() error { return e.Cause }

// ReplacedError says that another process joined under the same name.
type ReplacedError struct {
	Name string
	By   uint64 // incarnation of the newer entry
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("member %s: replaced by incarnation %d", e.Name, e.By)
}

// InsecureError says that an address beyond loopback was given without the
// files for mutual TLS.
type InsecureError struct{ Address string }

func (e *InsecureError) Error() string {
	return fmt.Sprintf("%s is beyond loopback: TLS files (authority, certificate, key) are required", e.Address)
}

// BadInput marks the error as a fault of what the user gave.
func (*InsecureError) BadInput() bool { return true }

// KeyError says what is wrong with a key or a name.
type KeyError struct{ Key, Reason string }

func (e *KeyError) Error() string { return fmt.Sprintf("key %q %s", e.Key, e.Reason) }

// BadInput marks the error as a fault of what the user gave.
func (*KeyError) BadInput() bool { return true }
