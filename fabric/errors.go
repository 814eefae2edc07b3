package fabric

import (
	"errors"
	"fmt"
	"net"
)

// ErrClosed is why a connection ended that was closed on this side.
var ErrClosed = fmt.Errorf("closed on this side: %w", net.ErrClosed)

// ErrQueueFull is why a connection ended whose peer took less than was sent.
var ErrQueueFull = errors.New("the queue of frames to send is full")

// ProtocolError says that a peer sent what is not a valid stream of frames.
type ProtocolError struct {
	Remote string // address of the peer
	Reason string
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("%s does not speak our protocol: %s", e.Remote, e.Reason)
}

// VersionError says that a peer speaks another version of the protocol.
type VersionError struct {
	Remote       string
	Ours, Theirs uint8
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s speaks version %d of the protocol, this program version %d: run the same release on both", e.Remote, e.Theirs, e.Ours)
}

// LimitError says that a body is larger than its priority allows.
type LimitError struct {
	Priority Priority
	Length   int // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("a %s frame of %d bytes is over the limit of %d", e.Priority, e.Length, e.Priority.Limit())
}

// InsecureError refuses an address beyond loopback without keys.
type InsecureError struct {
	Addr string
}

func (e *InsecureError) Error() string {
	return fmt.Sprintf("%s is beyond loopback, which needs keys: make them with millrace cluster keys", e.Addr)
}

// BadInput says that the user can mend it.
func (e *InsecureError) BadInput() bool { return true }

// AddressError says that an address is not one.
type AddressError struct {
	Addr, Reason string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("address %q: %s", e.Addr, e.Reason)
}

// BadInput says that the user can mend it.
func (e *AddressError) BadInput() bool { return true }
