package main

import (
	"runtime"

	"millrace.dev/group"
	"millrace.dev/group/reduce"
)

// room is how many goroutines of a worker may run at a time, as millrace train has it for workers of one thread: two
// spare ones beside the computation, for what comes from others; none where workers that share memory have a core
// each, but while their view changes.
type room struct{ epoch uint64 }

const (
	threads = 1
	spare   = 2
)

func makeRoom() { runtime.GOMAXPROCS(threads + spare) }

// settle takes the spare ones back in the first step of a view whose workers need none.
func (m *room) settle(r group.Result) {
	if r.View.Epoch == m.epoch {
		return
	}
	m.epoch = r.View.Epoch
	if r.Algorithm == reduce.Shared.String() && len(r.View.Members)*threads == runtime.NumCPU() {
		runtime.GOMAXPROCS(threads)
	} else {
		makeRoom()
	}
}
