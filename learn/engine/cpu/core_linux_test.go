package cpu

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLeaveCoreMovesTheThreadAndLeavesItFree(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	moved := 0
	for range 100 { // the system may move the thread at any time
		core := coreNow()
		leaveCore(core)
		if coreNow() != core {
			moved++
		}
	}
	if before.Count() > 1 && moved < 50 {
		t.Errorf("the thread left its core %d times of 100", moved)
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("the thread may run on %v, error %v; before it was %v", after, err, before)
	}
}

func TestLeaveCoreStaysWhereItMust(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &allowed) //nolint:errcheck // it was the thread's
	core := coreNow()
	one.Set(core)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	core = coreNow()
	leaveCore(core)
	var after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != one || coreNow() != core {
		t.Errorf("the thread may run on %v, error %v; want %v", after, err, one)
	}
}
