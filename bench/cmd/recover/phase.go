package main

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a worker is doing.
const (
	joining = iota
	inCompute
	inReduce
	inToken
	inUpdate
	inView
)

var phaseNames = []string{"join", "compute", "reduce", "token", "update", "view"}

// phase is what a worker is doing, in a file that outlives it.
type phase struct{ memory []byte }

func openPhase(path string) (*phase, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(4); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return &phase{memory}, err
}

func (p *phase) word() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&p.memory[0])) }

func (p *phase) set(to uint32) { p.word().Store(to) }

func (p *phase) String() string {
	if at := int(p.word().Load()); at < len(phaseNames) {
		return phaseNames[at]
	}
	return "unknown"
}

func (p *phase) close() {
	if p.memory != nil {
		unix.Munmap(p.memory) //nolint:errcheck // nothing is lost with it
		p.memory = nil
	}
}

// now is a clock that all processes share, in nanoseconds.
func now() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) //nolint:errcheck // never fails
	return t.Nano()
}
