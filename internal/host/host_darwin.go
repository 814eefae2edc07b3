package host

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func totalMemory() (uint64, error) {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, fmt.Errorf("hw.memsize: %w", err)
	}
	return total, nil
}

func cgroupMemoryLimit() (uint64, string, bool) { return 0, "", false }

// addressSpaceLimit is none: the system does not enforce one.
func addressSpaceLimit() (uint64, string, bool) { return 0, "", false }

// ErrClockUnknown means that the system does not tell whether its clock is
// synchronised.
var ErrClockUnknown = errors.New("the system does not tell whether its clock is synchronised")

// ClockSynchronised always returns ErrClockUnknown.
func ClockSynchronised() (bool, error) { return false, ErrClockUnknown }
