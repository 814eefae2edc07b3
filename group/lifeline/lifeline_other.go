//go:build !linux

package lifeline

import (
	"errors"
	"fmt"
	"runtime"
)

var errSystem = fmt.Errorf("lifeline: on %s: %w", runtime.GOOS, errors.ErrUnsupported)

// Line is this process's end; there is none on this system.
type Line struct{}

// Open fails with errors.ErrUnsupported.
func Open(uint64) (*Line, error) { return nil, errSystem }

// Close does nothing.
func (*Line) Close() error { return nil }

// Watched is a line of another process that is watched; there is none on this system.
type Watched struct{}

// Watch fails with errors.ErrUnsupported.
func Watch(uint64, func()) (*Watched, error) { return nil, errSystem }

// Close does nothing.
func (*Watched) Close() error { return nil }
