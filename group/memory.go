package group

import (
	"errors"

	"millrace.dev/group/shm"
)

// memory is a worker's two vectors, in memory that others on this machine can be shown where the
// system can do that.
type memory struct {
	vector *shm.Vector // nil: g is of this process alone
	g      []float32
	result *shm.Mean // nil: r is of this process alone
	r      []float32
}

func newMemory(elements int) (*memory, error) {
	vector, err := shm.NewVector(elements)
	if errors.Is(err, errors.ErrUnsupported) {
		return &memory{g: make([]float32, elements), r: make([]float32, elements)}, nil
	}
	if err != nil {
		return nil, err
	}
	result, err := shm.NewMean(elements)
	if err != nil {
		return nil, errors.Join(err, vector.Close())
	}
	return &memory{vector: vector, result: result}, nil
}

func (m *memory) gradients() []float32 {
	if m.vector != nil {
		return m.vector.Elements()
	}
	return m.g
}

func (m *memory) mean() []float32 {
	if m.result != nil {
		return m.result.Elements()
	}
	return m.r
}

// own makes the result writable by this process: no step is under way.
func (m *memory) own() error {
	if m.result == nil {
		return nil
	}
	return m.result.Private()
}

func (m *memory) close() error {
	if m.vector == nil {
		return nil
	}
	return errors.Join(m.vector.Close(), m.result.Close())
}
