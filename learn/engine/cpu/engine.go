package cpu

import (
	"fmt"
	"runtime"

	"millrace.dev/internal/cpu"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// Engine compiles graphs for the cores of this machine. Close ends its workers.
type Engine struct {
	pool *pool
}

var _ engine.Engine = (*Engine)(nil)

// New makes an engine that runs a program on up to threads threads, the caller's included; 0
// means GOMAXPROCS. It fails when the environment asks for a vector level that the machine does
// not have.
func New(threads int) (*Engine, error) {
	if err := cpu.Err(); err != nil {
		return nil, err
	}
	if threads < 0 || threads > 1024 {
		return nil, fmt.Errorf("cpu: %d threads is out of range", threads)
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Engine{newPool(threads)}, nil
}

// Name is "cpu".
func (e *Engine) Name() string { return "cpu" }

// Threads is the number of threads that a run may use.
func (e *Engine) Threads() int { return int(e.pool.limit.Load()) }

// SetThreads limits the threads that a run uses, from 1 to the number that New was given. It
// changes no result. It must not be called during a run.
func (e *Engine) SetThreads(n int) {
	e.pool.limit.Store(int32(min(max(n, 1), len(e.pool.helpers)+1)))
}

// Close ends the workers and waits for them. No replica may run any more.
func (e *Engine) Close() error {
	e.pool.close()
	return nil
}

// Compile optimises the graph, which it leaves alone, and plans its execution.
func (e *Engine) Compile(g *graph.Graph, opt engine.Options) (engine.Program, error) {
	return compile(g, opt, e.pool)
}
