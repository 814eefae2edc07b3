//go:build !linux

package fabric

import (
	"net"
	"os"
)

// WriteFiles writes data to a plain Unix socket with open files attached. It
// works on Linux only.
func WriteFiles(c *net.UnixConn, data []byte, files ...*os.File) error { return ErrFiles }

// ReadFiles reads from a plain Unix socket with the open files that came along.
// It works on Linux only.
func ReadFiles(c *net.UnixConn, buf []byte) (n int, files []*os.File, err error) {
	return 0, nil, ErrFiles
}
