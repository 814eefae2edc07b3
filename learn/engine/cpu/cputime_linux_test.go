package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what the process has used of all processors, which a busy machine does not change.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
