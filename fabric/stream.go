package fabric

import "net"

// stream is a socket as the connection uses it. One goroutine reads and one
// writes at a time.
type stream interface {
	// read fills a and then b, at least one byte.
	read(a, b []byte) (int, error)
	// writeAll writes all of bufs, whose elements it may change.
	writeAll(bufs [][]byte) error
	// tryWrite writes what the socket takes at once, 0 bytes if none or if it
	// cannot tell.
	tryWrite(bufs [][]byte) (int, error)
	// inline tells whether tryWrite is of use.
	inline() bool
}

// recordSize is how much a plain stream gathers for one write: about what one
// TLS record holds.
const recordSize = 16 << 10

// plain is a stream over any net.Conn. It gathers small writes, as each call
// of a TLS connection's Write makes a record of its own.
type plain struct {
	conn    net.Conn
	scratch []byte
}

func newPlain(conn net.Conn) *plain { return &plain{conn: conn, scratch: make([]byte, 0, recordSize)} }

func (p *plain) read(a, b []byte) (int, error) {
	if len(a) == 0 {
		a = b
	}
	n, err := p.conn.Read(a)
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (p *plain) writeAll(bufs [][]byte) error {
	for _, b := range bufs {
		for len(b) > 0 {
			if len(p.scratch) == 0 && len(b) >= recordSize {
				if _, err := p.conn.Write(b); err != nil {
					return err
				}
				break
			}
			n := min(len(b), recordSize-len(p.scratch))
			p.scratch = append(p.scratch, b[:n]...)
			b = b[n:]
			if len(p.scratch) == recordSize {
				if err := p.flush(); err != nil {
					return err
				}
			}
		}
	}
	return p.flush()
}

func (p *plain) flush() error {
	if len(p.scratch) == 0 {
		return nil
	}
	_, err := p.conn.Write(p.scratch)
	p.scratch = p.scratch[:0]
	return err
}

func (p *plain) tryWrite([][]byte) (int, error) { return 0, nil }
func (p *plain) inline() bool                   { return false }

// advance drops the first n bytes of bufs.
func advance(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}
