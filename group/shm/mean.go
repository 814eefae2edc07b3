package shm

import (
	"fmt"
	"os"
)

// Mean is the result of steps: the same addresses for a worker's life, whatever memory is behind them.
type Mean struct {
	mem  []byte
	r    []float32
	from *Team // whose shares are behind it, nil for memory of this process
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
	large(mem)
	return &Mean{mem: mem, r: floats(mem)[:elements:elements]}, nil
}

// Elements is the result, until Close. It must not be written unless its memory is Private.
func (m *Mean) Elements() []float32 { return m.r }

// Private puts zeros in memory of this process behind the result, unless such memory is there already, for somebody
// else than a Team to write. It must not be called while a step is under way. The next step of a Team
// takes the result back.
func (m *Mean) Private() error {
	if m.from == nil {
		return nil
	}
	if err := mapOver(m.mem, -1, 0); err != nil {
		return fmt.Errorf("shm: cannot free the result: %w", err)
	}
	large(m.mem)
	m.from = nil
	return nil
}

// show puts a team's shares behind the result, unless they are there already.
func (m *Mean) show(t *Team) error {
	if m.from == t {
		return nil
	}
	m.from = t
	l := t.layout
	for block := range l.blocks() {
		for rank, fd := range t.fds {
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
