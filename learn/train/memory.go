package train

import "millrace.dev/learn/engine"

// Memory is what a run computes in, in bytes. Data sets come on top.
type Memory struct {
	Step     engine.Memory // of the program of a full batch
	Vectors  int           // weights, gradients, what the optimizer keeps, the best weights
	Programs int           // arenas and work space of all programs, that of Step included
}

// Total is all of it.
func (m Memory) Total() int { return m.Vectors + m.Programs }

// Memory says what the run takes.
func (t *Trainer) Memory() Memory {
	v := t.vectors
	m := Memory{Step: t.steps.by[t.cfg.Batch].memory, Programs: t.steps.memory() + t.eval.runners.memory()}
	floats := len(v.Params) + len(v.Grads) + len(v.States)
	for _, s := range v.Slots {
		floats += len(s)
	}
	if t.cfg.Stop != nil {
		floats += len(v.Params) + len(v.States)
	}
	m.Vectors = 4 * floats
	return m
}

// memory is what the programs made so far take.
func (rs *runners) memory() int {
	n := 0
	for _, r := range rs.by {
		n += r.memory.Arena + r.memory.Scratch
	}
	return n
}

// prepare makes the runners for a data set of n samples in batches.
func (rs *runners) prepare(n, batch int) error {
	for _, size := range []int{min(n, batch), n % batch} {
		if size == 0 {
			continue
		}
		if _, err := rs.of(size); err != nil {
			return err
		}
	}
	return nil
}
