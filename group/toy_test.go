package group

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/zeebo/xxh3"

	"millrace.dev/group/reduce"
	"millrace.dev/group/steplog"
)

// toy is a model whose gradient is a function of its parameters and of the samples' numbers, cheap
// enough for tens of millions of parameters and such that a sample lost, repeated or weighed wrongly,
// or a sum in another order, ends in other bits.
type toy struct {
	keeps            bool // it has left, and is to keep the state
	params, momentum []float32
	step             uint64 // of the last update
	incoming         int64
}

func newToy(elements int) *toy {
	t := &toy{params: make([]float32, elements), momentum: make([]float32, elements)}
	for i := range t.params {
		t.params[i] = float32(i%977)/977 - 0.5
	}
	return t
}

// pull is what one sample wants, from -1 to 1.
func pull(epoch, sample uint64) float64 {
	x := (epoch+1)*0x9e3779b97f4a7c15 ^ (sample+1)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	x ^= x >> 29
	return float64(x>>11)/float64(1<<52) - 1
}

// gradient writes the mean gradient of samples into g, from the end as backward passes do, and tells
// ready of each part.
func (t *toy) gradient(g []float32, epoch uint64, ranges []Range, ready func(lo, hi int)) {
	sum, n := 0.0, 0
	for _, r := range ranges {
		for s := r.Lo; s < r.Hi; s++ {
			sum += pull(epoch, s)
			n++
		}
	}
	mean := float32(sum / float64(max(n, 1)))
	const part = 3 << 17
	for hi := len(g); hi > 0; {
		lo := max(hi-part, 0)
		p := t.params[lo:hi]
		for i := range p {
			g[lo+i] = float32(p[i]*0.25) + float32(mean*pattern[(lo+i)&1023])
		}
		if ready != nil {
			ready(lo, hi)
		}
		hi = lo
	}
}

var pattern = func() (p [1024]float32) {
	for i := range p {
		p[i] = float32(math.Sin(float64(i)))
	}
	return p
}()

// update takes one step of momentum.
func (t *toy) update(step uint64, rate float32, mean []float32) {
	for i, g := range mean {
		m := float32(t.momentum[i]*0.5) + g
		t.momentum[i] = m
		t.params[i] -= float32(m * rate)
	}
	t.step = step
}

func (t *toy) hash() uint64 {
	h := xxh3.New()
	h.Write(bytesOf(t.params))   //nolint:errcheck // never fails
	h.Write(bytesOf(t.momentum)) //nolint:errcheck
	return h.Sum64()
}

func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// The state is a header with the step, the parameters, the momentum.

func (t *toy) Size() int64 { return 8 + 8*int64(len(t.params)) }

func (t *toy) pieces() (header []byte, all [3][]byte) {
	header = binary.LittleEndian.AppendUint64(nil, t.step)
	return header, [3][]byte{header, bytesOf(t.params), bytesOf(t.momentum)}
}

func (t *toy) ReadAt(p []byte, off int64) error {
	_, pieces := t.pieces()
	at := int64(0)
	for _, piece := range pieces {
		end := at + int64(len(piece))
		if lo, hi := max(off, at), min(off+int64(len(p)), end); lo < hi {
			copy(p[lo-off:hi-off], piece[lo-at:hi-at])
		}
		at = end
	}
	return nil
}

func (t *toy) Restore(size int64) error {
	if size != t.Size() {
		return fmt.Errorf("a state of %d bytes, not %d", size, t.Size())
	}
	t.incoming = size
	return nil
}

func (t *toy) WriteAt(p []byte, off int64) error {
	header, pieces := t.pieces()
	at := int64(0)
	for _, piece := range pieces {
		end := at + int64(len(piece))
		if lo, hi := max(off, at), min(off+int64(len(p)), end); lo < hi {
			copy(piece[lo-at:hi-at], p[lo-off:hi-off])
		}
		at = end
	}
	t.step = binary.LittleEndian.Uint64(header)
	t.incoming -= int64(len(p))
	return nil
}

func (t *toy) Restored(step uint64) error {
	if t.step != step || t.incoming != 0 {
		return fmt.Errorf("the state is that of step %d and lacks %d bytes, not that of step %d", t.step, t.incoming, step)
	}
	return nil
}

const toyRate = 0.05

// train takes steps until the one with number last is committed, or the worker has left.
func (t *toy) train(ctx context.Context, w *Worker, last uint64, told func(s *Step, r Result)) error {
	for t.step < last {
		s, err := w.Begin(ctx)
		if errors.Is(err, ErrLeft) {
			t.keeps = errors.Is(err, ErrLeftLast)
			return nil
		}
		if err != nil {
			return err
		}
		report := Report{Hash: t.hash(), Rate: toyRate * s.RateScale}
		if s.Weight > 0 && len(s.Shares) > 0 {
			t.gradient(w.Gradients(), s.Epoch, s.Shares, s.Ready)
		}
		r, err := s.Commit(ctx, report)
		if err != nil {
			return err
		}
		switch r.Outcome {
		case Apply:
			t.update(r.Step, float32(report.Rate), r.Mean)
		case Skip:
			t.step = r.Step
		}
		if told != nil {
			told(s, r)
		}
	}
	return nil
}

// replay does serially what the logs tell, checks each hash on the way, and returns the model.
func replay(elements int, records []steplog.Record) (*toy, error) {
	t := newToy(elements)
	mean := make([]float32, elements)
	used := map[[2]uint64]uint64{} // (epoch, sample): step
	for _, r := range records {
		if r.Hash != 0 && r.Hash != t.hash() {
			return t, fmt.Errorf("before step %d: hash %x in the log, %x in the replay", r.Step, r.Hash, t.hash())
		}
		var a reduce.Algorithm
		if err := a.UnmarshalText([]byte(r.Algorithm)); err != nil {
			return t, err
		}
		g, m := make([][]float32, len(r.Parts)), make([]uint64, len(r.Parts))
		for i, p := range r.Parts {
			var ranges []Range
			for _, span := range p.Ranges {
				ranges = append(ranges, Range{Lo: span[0], Hi: span[1]})
				for s := span[0]; s < span[1]; s++ {
					if before, twice := used[[2]uint64{r.DataEpoch, s}]; twice {
						return t, fmt.Errorf("sample %d of epoch %d is used in steps %d and %d", s, r.DataEpoch, before, r.Step)
					}
					used[[2]uint64{r.DataEpoch, s}] = r.Step
				}
			}
			g[i], m[i] = make([]float32, elements), p.Samples
			if p.Samples > 0 {
				t.gradient(g[i], r.DataEpoch, ranges, nil)
			}
		}
		facts, err := reduce.Serial(a, g, m, mean)
		if err != nil {
			return t, err
		}
		if facts.Weight != r.Weight {
			return t, fmt.Errorf("step %d: weight %d in the log, %d in the replay", r.Step, r.Weight, facts.Weight)
		}
		if r.Outcome == Apply.String() {
			t.update(r.Step, float32(r.Rate), mean)
		}
		t.step = r.Step
	}
	return t, nil
}

// lostSamples says whether an epoch that is over has samples that no step used.
func lostSamples(records []steplog.Record, size uint64) error {
	count := map[uint64]uint64{}
	last := uint64(0)
	for _, r := range records {
		last = max(last, r.DataEpoch)
		for _, p := range r.Parts {
			for _, span := range p.Ranges {
				count[r.DataEpoch] += span[1] - span[0]
			}
		}
	}
	for epoch := range last {
		if count[epoch] != size {
			return fmt.Errorf("epoch %d used %d of %d samples", epoch, count[epoch], size)
		}
	}
	return nil
}
