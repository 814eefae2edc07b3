//go:build !linux

package unixsock

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// CheckUser refuses everybody: this system does not tell whose process is at the other end.
func CheckUser(syscall.Conn) error {
	return fmt.Errorf("the user at the other end of a socket on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
