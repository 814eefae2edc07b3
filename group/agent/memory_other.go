//go:build !linux

package agent

import (
	"errors"
	"net"
	"os"
)

// newMemory makes a file of memory; not on this system.
func newMemory(int64) (*os.File, error) { return nil, errors.ErrUnsupported }

// sameUser says whether a client's process belongs to this one's user; unknown on this system.
func sameUser(*net.UnixConn) (bool, error) { return false, errors.ErrUnsupported }
