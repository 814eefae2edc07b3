package cpu

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// coreNow is the core that runs the calling thread, -1 if that is not known.
func coreNow() int {
	var core uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&core)), 0, 0); errno != 0 {
		return -1
	}
	return int(core)
}

// leaveCore moves the calling thread to another core if it runs on the given one and may run on others, which it
// stays free to choose from.
func leaveCore(core int) {
	if core < 0 || coreNow() != core {
		return
	}
	runtime.LockOSThread() // for these calls only, as a locked goroutine is slow to wake
	defer runtime.UnlockOSThread()
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil {
		return
	}
	others := allowed
	if others.Clear(core); others.Count() == 0 {
		return
	}
	if unix.SchedSetaffinity(0, &others) == nil {
		unix.SchedSetaffinity(0, &allowed) //nolint:errcheck // the same was allowed a moment ago
	}
}
