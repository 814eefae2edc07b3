//go:build !linux

package agent

import (
	"errors"
	"os"
)

// newMemory makes a file of memory; not on this system.
func newMemory(int64) (*os.File, error) { return nil, errors.ErrUnsupported }
