package fabric

import "fmt"

// credit accounts for the bulk data of both directions of a connection, in
// bytes on the wire. Its fields are under the connection's mutex.
type credit struct {
	allowance  int64 // we may send this much more
	peerWindow int64 // allowance is never above
	window     int64 // the peer may have this much under way to us
	taken      int64 // of which this much came and was not given back
	owed       int64 // of which this much is free again and not yet told
}

// covers tells whether a frame may be sent.
func (c *credit) covers(f *frame) bool {
	return f.class != classBulk || int64(f.size()) <= c.allowance
}

// take uses credit for a frame, if there is enough.
func (c *credit) take(f *frame) bool {
	if f.class != classBulk {
		return true
	}
	if !c.covers(f) {
		return false
	}
	c.allowance -= int64(f.size())
	return true
}

// grant takes what the peer gives back.
func (c *credit) grant(bytes uint64) error {
	if bytes > uint64(c.peerWindow-c.allowance) {
		return &ProtocolError{Reason: fmt.Sprintf("it gives back %d bytes of credit, %d are out", bytes, c.peerWindow-c.allowance)}
	}
	c.allowance += int64(bytes)
	return nil
}

// came accounts for a bulk frame of the peer.
func (c *credit) came(h *Header) error {
	c.taken += HeaderSize + int64(h.Length)
	if c.taken > c.window {
		return &ProtocolError{Reason: "it sends more bulk data than it was given credit for"}
	}
	return nil
}

// free notes that so many bytes need no more room here, and returns how many
// to give back now: none until a quarter of the window is free.
func (c *credit) free(bytes int64) (give int64) {
	c.owed += bytes
	if c.owed < c.window/4 {
		return 0
	}
	give, c.owed = c.owed, 0
	c.taken -= give
	return give
}

// free gives credit back to the peer when it is worth a frame.
func (c *conn) free(bytes int64) {
	c.mu.Lock()
	give := c.credit.free(bytes)
	c.mu.Unlock()
	if give > 0 {
		c.send(frame{class: classCredit, h: Header{Aux: uint64(give)}})
	}
}

// Hold implements Conn.
func (c *conn) Hold(n int) { c.free(-int64(n)) }

// Release implements Conn.
func (c *conn) Release(n int) { c.free(int64(n)) }
