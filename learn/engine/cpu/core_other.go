//go:build !linux

package cpu

// coreNow is not known: the system places threads.
func coreNow() int { return -1 }

// leaveCore leaves the thread where it is.
func leaveCore(int) {}
