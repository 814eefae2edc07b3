package fabric

import (
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// WriteFiles writes data to a plain Unix socket, which is no Conn, with at most
// 16 open files attached to its first byte. data must not be empty.
func WriteFiles(c *net.UnixConn, data []byte, files ...*os.File) error {
	if len(data) == 0 || len(files) > maxFiles {
		return fmt.Errorf("%d files with %d bytes of data: it takes up to %d files and at least a byte", len(files), len(data), maxFiles)
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	n, _, err := c.WriteMsgUnix(data, unix.UnixRights(fds...), nil)
	runtime.KeepAlive(files)
	if err == nil && n < len(data) {
		_, err = c.Write(data[n:])
	}
	return err
}

// ReadFiles reads from a plain Unix socket, at most len(buf) bytes, and returns
// the open files that came along, which are the caller's. More than 16 files
// are an error, after which none is open.
func ReadFiles(c *net.UnixConn, buf []byte) (n int, files []*os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil {
		return n, nil, err
	}
	var s socket
	if oobn > 0 {
		err = s.collect(oob[:oobn], int32(flags))
	}
	if err != nil {
		s.dropFiles()
		return n, nil, err
	}
	files, err = s.takeFiles(len(s.fds))
	return n, files, err
}
