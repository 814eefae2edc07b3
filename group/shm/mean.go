package shm

import (
	"fmt"
	"os"
)

// Mean is the result of steps: the same addresses for a worker's life, whatever memory is behind them.
type Mean struct {
	mem    []byte
	r      []float32
	shared bool
}

// NewMean makes a result of zeros in memory of this process.
func NewMean(elements int) (*Mean, error) {
	if elements < 1 || elements > 1<<40 {
		return nil, fmt.Errorf("shm: a vector of %d elements", elements)
	}
	mem, err := reserve(newLayout(elements, os.Getpagesize(), 1).vectorBytes())
	if err != nil {
		return nil, unsupported("a range of addresses", err)
	}
	return &Mean{mem: mem, r: floats(mem)[:elements:elements]}, nil
}

// Elements is the result, until Close. It may be written after Private and before the first step of a Team only.
func (m *Mean) Elements() []float32 { return m.r }

// Private puts zeros in memory of this process behind the result, where there was that of a team, for a reducer
// that writes the whole result itself.
func (m *Mean) Private() error {
	if !m.shared {
		return nil
	}
	if err := mapOver(m.mem, -1, 0); err != nil {
		return fmt.Errorf("shm: cannot free the result: %w", err)
	}
	m.shared = false
	return nil
}

// share puts the shares of a view behind the result; fds are by rank.
func (m *Mean) share(l layout, fds []int) error {
	m.shared = true
	for block := range l.blocks() {
		for rank, fd := range fds {
			lo, hi := l.segment(block, rank)
			if lo == hi {
				continue
			}
			part := m.mem[lo*wordSize : roundUp(hi*wordSize, l.page)]
			if err := mapOver(part, fd, int64(l.slotAt(block))); err != nil {
				return fmt.Errorf("shm: cannot map the result: %w", err)
			}
		}
	}
	return nil
}

// Close unmaps the result. Nothing may use the elements any more.
func (m *Mean) Close() error {
	unmap(m.mem)
	m.mem, m.r = nil, nil
	return nil
}
