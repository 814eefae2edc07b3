package cpu

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// currentCore is the number of the core that the calling thread runs on, -1 when unknown.
func currentCore() int {
	var core uint32
	if _, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&core)), 0, 0); err != 0 {
		return -1
	}
	return int(core)
}

// coreKeeper keeps a goroutine's thread off one core. When every core has something to run, the
// kernel likes to wake a helper on the core of the thread that wakes it, where it can only take
// turns with it; kept off, the helper competes with the neighbour instead.
type coreKeeper struct {
	allowed unix.CPUSet
	off     int // the core that the thread is kept off, -1 for none
}

// keepCores ties the calling goroutine to its thread, which ends with it.
func keepCores() *coreKeeper {
	runtime.LockOSThread()
	k := &coreKeeper{off: -1}
	if err := unix.SchedGetaffinity(0, &k.allowed); err != nil {
		k.allowed.Zero()
	}
	return k
}

// keepOff moves the thread off a core, unless it may run on no other. It is advice: where the
// system refuses, the thread stays where it is.
func (k *coreKeeper) keepOff(core int) {
	if core == k.off {
		return
	}
	k.off = core
	others := k.allowed
	others.Clear(core)
	if core >= 0 && others.Count() > 0 {
		_ = unix.SchedSetaffinity(0, &others)
	}
}
