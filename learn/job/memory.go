package job

import (
	"fmt"

	"millrace.dev/internal/host"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
)

// MemoryError says that a step of a run takes more memory than the process may use.
type MemoryError struct {
	Batch         int
	Needed, Limit int64  // bytes
	Source        string // file that sets the limit, "" when it is the machine's
}

func (e *MemoryError) Error() string {
	source := ""
	if e.Source != "" {
		source = " by " + e.Source
	}
	return fmt.Sprintf("a step of %d samples takes %s of memory, %s may be used%s: a smaller --batch or smaller samples take less",
		e.Batch, mebibytes(e.Needed), mebibytes(e.Limit), source)
}

// BadInput marks the error as the fault of what was asked.
func (e *MemoryError) BadInput() bool { return true }

// checkMemory compares the weights and the arena of a step that one process computes with the
// memory that may be used, which is taken for enough where it cannot be told. The samples, which
// are in memory already, are left out.
func (j *Job) checkMemory(m host.Memory, unknown error) error {
	if unknown != nil {
		return nil
	}
	batch := min(j.Settings.Batch, j.Samples)
	g, err := j.stepGraph(batch)
	if err != nil {
		return err
	}
	e, err := cpu.New(1)
	if err != nil {
		return err
	}
	defer e.Close()
	p, err := e.Compile(g, engine.Options{})
	if err != nil {
		return err
	}
	params, states := j.Net.NumParams(), j.Net.NumStates()
	floats := params*(2+j.config.Optimizer.Rule.Slots()) + states // weights, gradients, slots
	if j.config.Stop != nil {
		floats += params + states // the best weights
	}
	needed := 4*int64(floats) + int64(p.Memory().Arena+p.Memory().Scratch)
	if uint64(needed) <= m.Limit {
		return nil
	}
	return &MemoryError{batch, needed, int64(m.Limit), m.Source}
}
