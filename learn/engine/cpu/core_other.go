//go:build !linux

package cpu

func currentCore() int { return -1 }

// coreKeeper does nothing where threads cannot be tied to cores.
type coreKeeper struct{}

func keepCores() *coreKeeper { return nil }

func (*coreKeeper) keepOff(int) {}
