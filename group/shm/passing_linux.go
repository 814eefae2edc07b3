package shm

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// doorAddr is where the worker of an incarnation listens: a name that vanishes with its process.
func doorAddr(id uint64) *net.UnixAddr {
	return &net.UnixAddr{Name: fmt.Sprintf("@millrace-shm-%016x", id), Net: "unix"}
}

// sameUser refuses a connection whose other end does not belong to a user.
func sameUser(c *net.UnixConn, uid int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return os.NewSyscallError("getsockopt", credErr)
	}
	if int(cred.Uid) != uid {
		return fmt.Errorf("a process of user %d", cred.Uid)
	}
	return nil
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
		more, parseErr := parseFiles(oob[:oobn])
		fds = append(fds, more...)
		if err = errors.Join(err, parseErr); err == nil && flags&unix.MSG_CTRUNC != 0 {
			err = errors.New("too many files")
		}
		if err == nil && m == 0 {
			err = errors.New("the message ends early")
		}
		if err != nil {
			closeFiles(fds)
			return nil, err
		}
		got += m
	}
	if len(fds) > n {
		closeFiles(fds)
		return nil, fmt.Errorf("%d files instead of at most %d", len(fds), n)
	}
	return fds, nil
}

func parseFiles(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	var fds []int
	for i := range messages {
		some, err := unix.ParseUnixRights(&messages[i])
		if err == nil {
			fds = append(fds, some...)
		}
	}
	return fds, err
}
