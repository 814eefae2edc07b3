// Package flow holds the rules of queues and credit that sockets and the
// simulation share.
package flow

import "fmt"

// Bounds of the queues of one connection, in bytes on the wire.
const (
	MaxControlWait = 16 << 20
	MaxBulkWait    = 1 << 30
)

// Credit accounts for the bulk data of both directions of a connection, in
// bytes on the wire.
type Credit struct {
	allowance  int64 // we may send this much more
	peerWindow int64 // allowance is never above
	window     int64 // the peer may have this much under way to us
	taken      int64 // of which this much came and was not given back
	owed       int64 // of which this much is free again and not yet told
	held       int64 // of which this much the handler keeps
	enough     int64 // so much owed is worth a frame
}

// Open sets what we grant the peer, who may send frames of up to largest bytes.
// Credit is given back by halves of the window, to save frames, but never is so
// much owed that the largest frame could not be sent.
func (c *Credit) Open(window, largest int) {
	c.window = int64(window)
	c.enough = min(c.window/2, c.window-int64(largest))
}

// Window returns what we granted.
func (c *Credit) Window() int64 { return c.window }

// Allow sets what the peer granted us at first.
func (c *Credit) Allow(window int64) { c.allowance, c.peerWindow = window, window }

// Covers tells whether so many bytes may be sent.
func (c *Credit) Covers(bytes int) bool { return int64(bytes) <= c.allowance }

// Take uses credit for so many bytes, if there is enough.
func (c *Credit) Take(bytes int) bool {
	if !c.Covers(bytes) {
		return false
	}
	c.allowance -= int64(bytes)
	return true
}

// Grant takes what the peer gives back. It fails if that was never used.
func (c *Credit) Grant(bytes uint64) error {
	if out := c.peerWindow - c.allowance; bytes > uint64(out) {
		return fmt.Errorf("it gives back %d bytes of credit, %d are out", bytes, out)
	}
	c.allowance += int64(bytes)
	return nil
}

// Came accounts for so many bytes from the peer. It fails if they are more than
// we granted.
func (c *Credit) Came(bytes int) error {
	c.taken += int64(bytes)
	if c.taken > c.window {
		return fmt.Errorf("it sends %d bytes of bulk data more than its credit", c.taken-c.window)
	}
	return nil
}

// Hold notes that so many bytes, which will be freed when the callback returns,
// are kept beyond it.
func (c *Credit) Hold(bytes int) {
	c.held += int64(bytes)
	c.owed -= int64(bytes)
}

// Release frees bytes that were held. It fails if they were not.
func (c *Credit) Release(bytes int) (give int64, err error) {
	if int64(bytes) > c.held {
		return 0, fmt.Errorf("credit for %d bytes is released, but that for %d is held", bytes, c.held)
	}
	c.held -= int64(bytes)
	return c.Free(bytes), nil
}

// Free notes that so many bytes need no more room here. It returns how many to
// give back now.
func (c *Credit) Free(bytes int) (give int64) {
	c.owed += int64(bytes)
	if c.owed <= 0 || c.owed < c.enough {
		return 0
	}
	give, c.owed = c.owed, 0
	c.taken -= give
	return give
}
