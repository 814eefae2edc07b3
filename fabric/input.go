package fabric

import (
	"fmt"
	"io"
)

// aheadSize is how far the reader looks ahead of the frame that it reads: it is
// what of a body may have to be copied, and how many small frames come with one call.
const aheadSize = 8 << 10

// input is the receiving half of a connection.
type input struct {
	nonce  uint32 // ours, from which the checksums of what comes begin
	n      uint64 // frames so far
	ahead  [aheadSize]byte
	lo, hi int // ahead[lo:hi] was read and not used
}

// next reads the next header.
func (in *input) next(s stream) (class, Header, error) {
	if in.lo > 0 {
		in.hi = copy(in.ahead[:], in.ahead[in.lo:in.hi])
		in.lo = 0
	}
	for in.hi < HeaderSize {
		n, err := s.read(in.ahead[in.hi:], nil)
		if err != nil {
			if err == io.EOF && in.hi > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, Header{}, err
		}
		in.hi += n
	}
	class, h, err := parseHeader(in.ahead[:HeaderSize], seal(in.nonce, in.n))
	in.lo = HeaderSize
	in.n++
	return class, h, err
}

// body fills body, and reads ahead of it what comes with the last call.
func (in *input) body(s stream, body []byte) error {
	got := copy(body, in.ahead[in.lo:in.hi])
	in.lo += got
	for got < len(body) {
		in.lo, in.hi = 0, 0
		n, err := s.read(body[got:], in.ahead[:])
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		in.hi = max(0, n-(len(body)-got))
		got += n
	}
	return nil
}

// read takes frames until the connection ends.
func (c *conn) read() error {
	for {
		class, h, err := c.in.next(c.stream)
		if err == nil {
			err = c.take(class, h)
		}
		if err != nil {
			return err
		}
		c.framesIn.Add(1)
		c.bytesIn.Add(HeaderSize + uint64(h.Length))
	}
}

// take handles a frame whose header came.
func (c *conn) take(class class, h Header) error {
	switch class {
	case classControl:
		return c.deliver(h)
	case classBulk:
		c.mu.Lock()
		err := c.credit.Came(HeaderSize + int(h.Length))
		c.mu.Unlock()
		if err != nil {
			return &ProtocolError{Reason: err.Error()}
		}
		if err := c.deliver(h); err != nil {
			return err
		}
		c.free(HeaderSize + int(h.Length))
		return nil
	case classCredit:
		c.mu.Lock()
		err := c.credit.Grant(h.Aux)
		c.wake.Signal()
		c.mu.Unlock()
		if err != nil {
			return &ProtocolError{Reason: err.Error()}
		}
		return nil
	}
	return &ProtocolError{Reason: fmt.Sprintf("a frame of class %d where none may be", class)}
}

// deliver hands a frame to the handler.
func (c *conn) deliver(h Header) error {
	var body []byte
	if h.Length > 0 {
		var err error
		if body, err = c.handler.Body(c, h); err != nil {
			return err
		}
		if len(body) != int(h.Length) {
			return fmt.Errorf("the handler made room for %d bytes of a body of %d", len(body), h.Length)
		}
		if err := c.in.body(c.stream, body); err != nil {
			return err
		}
	}
	return c.handler.Frame(c, h, body)
}
