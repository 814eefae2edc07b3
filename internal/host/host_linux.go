package host

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func totalMemory() (uint64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("sysinfo: %w", err)
	}
	return uint64(info.Totalram) * uint64(info.Unit), nil
}

func cgroupMemoryLimit() (uint64, string, bool) { return memoryLimit(os.DirFS("/")) }

// addressSpaceLimit is the bound that a shell's ulimit -v and some batch systems set.
func addressSpaceLimit() (uint64, string, bool) {
	var bound unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &bound); err != nil || bound.Cur == unix.RLIM_INFINITY {
		return 0, "", false
	}
	limit, ok := usableOf(bound.Cur, readText(os.DirFS("/"), "proc/self/statm"), uint64(os.Getpagesize()))
	return limit, "ulimit -v", ok
}

// ErrClockUnknown means that the system does not tell whether its clock is
// synchronised.
var ErrClockUnknown = errors.New("the system does not tell whether its clock is synchronised")

// ClockSynchronised reports whether the kernel considers the clock to be
// disciplined by a time source.
func ClockSynchronised() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, ErrClockUnknown
	}
	const timeError = 5 // TIME_ERROR of adjtimex(2)
	return state != timeError, nil
}
