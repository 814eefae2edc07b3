package agent

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// newMemory makes a file of memory.
func newMemory(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("millrace-state", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "millrace-state")
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sameUser says whether a client's process belongs to this one's user.
func sameUser(c *net.UnixConn) (bool, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false, err
	}
	var who *unix.Ucred
	var whoErr error
	err = raw.Control(func(fd uintptr) { who, whoErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, whoErr); err != nil {
		return false, err
	}
	return int(who.Uid) == os.Getuid() || who.Uid == 0, nil
}
