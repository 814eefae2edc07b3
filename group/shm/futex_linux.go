package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Operations of futex(2), for memory that processes share.
const (
	futexWait = 0
	futexWake = 1
)

// yield leaves the CPU to another thread that is ready to run, if there is one. It takes about a microsecond, which is
// why the runtime is not told.
func yield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) } //nolint:errcheck // never fails

// sleep waits until somebody wakes those who sleep on a word, for some time at most, and not at all if the word is not what was
// seen. The memory need not be writable.
func sleep(word *atomic.Uint64, seen uint64, most time.Duration) {
	t := unix.NsecToTimespec(int64(most))
	unix.Syscall6(unix.SYS_FUTEX, uintptr(low(word)), futexWait, uintptr(uint32(seen)), uintptr(unsafe.Pointer(&t)), 0, 0) //nolint:errcheck // the caller looks again
}

// wake wakes all who sleep on a word.
func wake(word *atomic.Uint64) {
	const all = 1<<31 - 1
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(low(word)), futexWake, all, 0, 0, 0) //nolint:errcheck // fails where there is no memory only
}

// low is the half of a word that counts up: the kernel looks at 32 bits.
func low(word *atomic.Uint64) unsafe.Pointer {
	if cpu.IsBigEndian {
		return unsafe.Add(unsafe.Pointer(word), 4)
	}
	return unsafe.Pointer(word)
}
