package shm

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/unixsock"
)

// doorAddr is where the worker of an incarnation listens: a name that vanishes with its process.
func doorAddr(id uint64) *net.UnixAddr {
	return &net.UnixAddr{Name: fmt.Sprintf("@millrace-shm-%016x", id), Net: "unix"}
}

// sendFiles sends a message with open files.
func sendFiles(c *net.UnixConn, message []byte, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err := c.WriteMsgUnix(message, rights, nil)
	return err
}

// receiveFiles reads a message of the length of b and at most n files with it. No file is left open on an error.
func receiveFiles(c *net.UnixConn, b []byte, n int) ([]int, error) {
	oob := make([]byte, unix.CmsgSpace(8*4))
	var fds []int
	for got := 0; got < len(b); {
		m, oobn, flags, _, err := c.ReadMsgUnix(b[got:], oob)
		more, parseErr := unixsock.Files(oob[:oobn])
		fds = append(fds, more...)
		if err = errors.Join(err, parseErr); err == nil && flags&unix.MSG_CTRUNC != 0 {
			err = errors.New("too many files")
		}
		if err == nil && m == 0 {
			err = errors.New("the message ends early")
		}
		if err != nil {
			unixsock.CloseFiles(fds)
			return nil, err
		}
		got += m
	}
	if len(fds) > n {
		unixsock.CloseFiles(fds)
		return nil, fmt.Errorf("%d files instead of at most %d", len(fds), n)
	}
	return fds, nil
}
