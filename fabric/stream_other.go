//go:build !linux

package fabric

import (
	"net"
	"time"
)

// newStream returns the stream over a TCP or Unix socket.
func newStream(conn net.Conn, _ time.Duration) (stream, error) { return newPlain(conn), nil }
