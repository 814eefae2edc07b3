package unixsock

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// CheckUser refuses, with an error that is os.ErrPermission, a connected Unix socket whose other end belongs to a
// process of another user than this one's, unless that is root.
func CheckUser(c syscall.Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	if failed := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); failed != nil {
		return failed
	}
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	return check(int(peer.Uid), os.Geteuid())
}

// check says whether a process of user ours may deal with one of user theirs.
func check(theirs, ours int) error {
	const root = 0
	if theirs == ours || theirs == root {
		return nil
	}
	return fmt.Errorf("the other end belongs to user %d, this one to user %d: %w", theirs, ours, os.ErrPermission)
}
