//go:build !linux

package shm

import (
	"runtime"
	"sync/atomic"
	"time"
)

// None of this is needed: no memory can be shared here.

func yield() { runtime.Gosched() }

func sleep(*atomic.Uint64, uint64, time.Duration) {}

func wake(*atomic.Uint64) {}
