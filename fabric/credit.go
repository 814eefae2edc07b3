package fabric

// covers tells whether the credit allows to send a frame.
func (c *conn) covers(f *frame) bool { return f.class != classBulk || c.credit.Covers(f.size()) }

// pay uses credit for a frame, if there is enough.
func (c *conn) pay(f *frame) bool { return f.class != classBulk || c.credit.Take(f.size()) }

// free gives credit back to the peer when it is worth a frame.
func (c *conn) free(bytes int) {
	c.mu.Lock()
	give := c.credit.Free(bytes)
	c.mu.Unlock()
	c.give(give)
}

// give tells the peer that it may send so many bytes more.
func (c *conn) give(bytes int64) {
	if bytes > 0 {
		c.send(frame{class: classCredit, h: Header{Aux: uint64(bytes)}})
	}
}

// Hold implements Conn.
func (c *conn) Hold(n int) {
	c.mu.Lock()
	c.credit.Hold(n)
	c.mu.Unlock()
}

// Release implements Conn.
func (c *conn) Release(n int) {
	c.mu.Lock()
	give, err := c.credit.Release(n)
	c.mu.Unlock()
	if err != nil {
		c.fail(err)
		return
	}
	c.give(give)
}
