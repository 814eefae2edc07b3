package agent

import (
	"errors"
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
