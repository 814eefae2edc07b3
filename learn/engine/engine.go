package engine

import (
	"fmt"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// Engine turns graphs into programs.
type Engine interface {
	// Name of the engine, as in "cpu" or "oracle".
	Name() string
	// Compile checks the graph and fixes everything that can be fixed before the first run. The
	// graph must not change afterwards.
	Compile(g *graph.Graph, opt Options) (Program, error)
}

// Options of a compilation.
type Options struct {
	// Layout of the vectors; nil means NewLayout of the graph. An evaluation graph is compiled
	// with the training graph's layout, so that both work on the same vectors.
	Layout *Layout
	// SplitUpdate keeps updates apart from the backward pass, for callers that change the
	// gradients in between, or read them. Without it a program may update a parameter as soon as
	// its gradient is there and nothing else reads it, and leave the gradient vector unwritten.
	SplitUpdate bool
	// BucketBytes is the size from which neighbouring gradients count as one bucket; 0 means one
	// bucket for all.
	BucketBytes int
}

// Program is a compiled graph. It is immutable and may be used from several goroutines.
type Program interface {
	Layout() *Layout
	// NewReplica makes what one run at a time needs. The vectors must be of the program's layout.
	NewReplica(v *Vectors) (Replica, error)
	// Buckets lists the gradient vector's buckets in the order in which they complete.
	Buckets() []Range
	// Memory says what a replica's arena takes.
	Memory() Memory
	// Ops lists what is executed, in order, for profiles and explanations.
	Ops() []OpInfo
}

// Replica runs a program on vectors.
type Replica interface {
	// Input is the buffer of a named input, to be filled before a run; nil when there is none.
	Input(name string) *tensor.Tensor
	// Output is the buffer of a named output, valid until the next run; nil when there is none.
	Output(name string) *tensor.Tensor
	// OnBucket sets a function that is called during Run, on the caller's goroutine, when a
	// bucket's gradients are complete; nil for none. Needs a program with SplitUpdate.
	OnBucket(f func(Range))
	// Run executes the stage for a step.
	Run(stage Stage, step Step) error
	// Trace runs without updating anything and returns the first operation, or the first param,
	// with a result that is not finite as a *RunError, or nil when all are finite. It is slow.
	Trace(step Step) error
}

// Stage selects a part of a program.
type Stage uint8

// All runs everything; Backward everything but the updates; Update only those. The latter two
// need SplitUpdate.
const (
	All Stage = iota
	Backward
	Update
)

// Step is what the random choices of a run depend on.
type Step struct {
	Seed  uint64
	Index uint64
}

// Range is a half-open range of elements of a flat vector.
type Range struct{ Lo, Hi int }

// Memory of a replica.
type Memory struct {
	Arena      int // bytes of the arena
	LowerBound int // bytes that are alive at once at the worst moment: no arena can be smaller
	Scratch    int // bytes of the kernels' work space, of all threads together
}

// Ratio of the arena to its lower bound.
func (m Memory) Ratio() float64 {
	if m.LowerBound == 0 {
		return 1
	}
	return float64(m.Arena) / float64(m.LowerBound)
}

// OpInfo describes one executed operation.
type OpInfo struct {
	Op     string
	Path   string
	Kernel string // what executes it
	Out    string // the results' specs
	Flops  int64  // multiplications and additions of products and convolutions
}

// RunError says which operation of which layer failed in a run.
type RunError struct {
	Path string
	Op   string
	Err  error
}

func (e *RunError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Path, e.Op, e.Err) }

func (e *RunError) Unwrap() error { return e.Err }

// NonFiniteError says that a number which must be finite is not.
type NonFiniteError struct {
	What  string // "loss", "gradient norm", "result", "weights of …"
	Value float64
}

func (e *NonFiniteError) Error() string { return fmt.Sprintf("%s is %v", e.What, e.Value) }

// RangeError says that an index read from data is out of range.
type RangeError struct {
	What  string // "label", "row"
	At    int    // position in the operand
	Value int
	Limit int // valid are 0..Limit-1
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s %d at position %d is outside 0..%d", e.What, e.Value, e.At, e.Limit-1)
}

// BadInput marks the error as the fault of the data.
func (e *RangeError) BadInput() bool { return true }
