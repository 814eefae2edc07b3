package main

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/zeebo/xxh3"

	"millrace.dev/group"
)

// model is a model of tens of millions of parameters that costs little to train, so that what is measured is the group.
// A step moves one window of the parameters, the windows take turns; outside of it the gradient is a constant that is
// summed up all the same. What moves depends on the parameters and on the samples' numbers, so a sample lost, repeated
// or weighed wrongly, or a sum in another order, ends in other bits.
type model struct {
	params   []float32
	step     uint64 // of the last update
	chain    uint64 // a hash of all updates so far
	incoming int64

	moved int // start of the window in which the gradient is not constant, -1: none
}

// window is how many elements move in a step.
const window = 1 << 20

// part is how many elements of the gradient are ready at a time.
const part = 1 << 18

func newModel(elements int) *model {
	m := &model{params: make([]float32, elements), moved: -1}
	for i := range m.params {
		m.params[i] = float32(i%977)/977 - 0.5
	}
	return m
}

// span is the window of a step.
func (m *model) span(step uint64) (lo, hi int) {
	windows := uint64((len(m.params) + window - 1) / window)
	lo = int(step%windows) * window
	return lo, min(lo+window, len(m.params))
}

// pull is what one sample wants, from -1 to 1.
func pull(epoch, sample uint64) float64 {
	x := (epoch+1)*0x9e3779b97f4a7c15 ^ (sample+1)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	x ^= x >> 29
	return float64(x>>11)/float64(1<<52) - 1
}

// meanPull is that of samples.
func meanPull(epoch uint64, ranges []group.Range) float32 {
	sum, n := 0.0, 0
	for _, r := range ranges {
		for s := r.Lo; s < r.Hi; s++ {
			sum += pull(epoch, s)
			n++
		}
	}
	return float32(sum / float64(max(n, 1)))
}

// constant is the gradient's element i outside of the window.
func constant(i int) float32 { return float32(i&1023)/1024 - 0.5 }

// fresh makes g constant.
func fresh(g []float32) {
	for i := range g {
		g[i] = constant(i)
	}
}

// gradient writes the mean gradient of samples in a step into g, which is constant but for the window of the last call,
// and tells ready of each part, from the end as backward passes do.
func (m *model) gradient(g []float32, step, epoch uint64, ranges []group.Range, ready func(lo, hi int)) {
	if m.moved >= 0 {
		for i := m.moved; i < min(m.moved+window, len(g)); i++ {
			g[i] = constant(i)
		}
	}
	lo, hi := m.span(step)
	m.moved = lo
	mean := meanPull(epoch, ranges)
	for to := len(g); to > 0; {
		from := (to - 1) / part * part
		for i := max(from, lo); i < min(to, hi); i++ {
			x := float32(m.params[i]*0.25) + mean
			for range 3 { // some work: x ← x·(1.5 - x²/2)
				x *= 1.5 - float32(float32(x*x)*0.5)
			}
			g[i] = float32(x * (constant(i) + 1))
		}
		ready(from, to)
		to = from
	}
}

// update moves the step's window.
func (m *model) update(step uint64, rate float32, mean []float32) {
	lo, hi := m.span(step)
	p := m.params[lo:hi]
	for i, g := range mean[lo:hi] {
		p[i] -= float32(g * rate)
	}
	m.step = step
	m.chain = xxh3.HashSeed(bytesOf(p), m.chain)
}

// skip goes on without an update.
func (m *model) skip(step uint64) { m.step = step }

// hash is of everything.
func (m *model) hash() uint64 { return xxh3.HashSeed(bytesOf(m.params), m.chain) }

func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// The state is the step, the chain and the parameters.
const header = 16

// Size implements group.State.
func (m *model) Size() int64 { return header + 4*int64(len(m.params)) }

// ReadAt implements group.State.
func (m *model) ReadAt(p []byte, off int64) error {
	if off < header {
		h := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, m.step), m.chain)
		n := copy(p, h[off:])
		p, off = p[n:], off+int64(n)
	}
	if len(p) > 0 {
		copy(p, bytesOf(m.params)[off-header:])
	}
	return nil
}

// Restore implements group.State.
func (m *model) Restore(size int64) error {
	if size != m.Size() {
		return fmt.Errorf("a state of %d bytes, not %d", size, m.Size())
	}
	m.incoming = size
	return nil
}

// WriteAt implements group.State.
func (m *model) WriteAt(p []byte, off int64) error {
	m.incoming -= int64(len(p))
	if off < header {
		h := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, m.step), m.chain)
		n := copy(h[off:], p)
		m.step, m.chain = binary.LittleEndian.Uint64(h), binary.LittleEndian.Uint64(h[8:])
		p, off = p[n:], off+int64(n)
	}
	if len(p) > 0 {
		copy(bytesOf(m.params)[off-header:], p)
	}
	return nil
}

// Restored implements group.State.
func (m *model) Restored(step uint64) error {
	if m.step != step || m.incoming != 0 {
		return fmt.Errorf("the state is that of step %d and lacks %d bytes, not that of step %d", m.step, m.incoming, step)
	}
	return nil
}
