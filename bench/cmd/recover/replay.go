package main

import (
	"fmt"
	"path/filepath"

	"millrace.dev/group"
	"millrace.dev/group/reduce"
	"millrace.dev/group/steplog"
)

// verify does serially what the workers' logs tell, and compares the parameters with theirs.
func (h *hunt) verify(last uint64, hashes []uint64) (total, error) {
	dirs, err := filepath.Glob(logDir(h.dir, "*"))
	if err != nil {
		return total{}, err
	}
	records, err := steplog.Merge(dirs...)
	if err != nil {
		return total{}, err
	}
	if uint64(len(records)) != last {
		return total{}, fmt.Errorf("%d steps in the logs, the last of which is %d", len(records), last)
	}
	used, err := account(records, h.spec.Data.Samples)
	if err != nil {
		return total{}, err
	}
	m, err := replay(h.elements, records)
	if err != nil {
		return total{}, err
	}
	want := m.hash()
	for i, got := range hashes {
		if got != want {
			return total{}, fmt.Errorf("%s ends with hash %x, the replay with %x", h.alive[i].name, got, want)
		}
	}
	return total{Type: "total", Steps: len(records), Samples: used,
		Verified: fmt.Sprintf("a serial replay of %d steps ends with the same bits as all %d survivors; no sample was used twice or left out", len(records), len(hashes))}, nil
}

// account checks that each sample is used once.
func account(records []steplog.Record, size uint64) (used uint64, err error) {
	epoch, seen := uint64(0), make([]bool, size)
	n := uint64(0)
	for _, r := range records {
		if r.DataEpoch != epoch {
			if n != size || r.DataEpoch != epoch+1 {
				return 0, fmt.Errorf("epoch %d ends after %d of %d samples", epoch, n, size)
			}
			epoch, n = r.DataEpoch, 0
			clear(seen)
		}
		weight := uint64(0)
		for _, p := range r.Parts {
			for _, span := range p.Ranges {
				for s := span[0]; s < span[1]; s++ {
					if seen[s] {
						return 0, fmt.Errorf("sample %d of epoch %d is used twice, once in step %d", s, epoch, r.Step)
					}
					seen[s] = true
					weight++
				}
			}
		}
		if weight != r.Weight {
			return 0, fmt.Errorf("step %d has weight %d and %d samples", r.Step, r.Weight, weight)
		}
		n, used = n+weight, used+weight
	}
	return used, nil
}

// replay does all steps on one machine, with the bits that a group gets.
func replay(elements int, records []steplog.Record) (*model, error) {
	m := newModel(elements)
	mean := make([]float32, elements)
	var gradients [][]float32
	var moved []int // see model
	for _, r := range records {
		if r.Hash != 0 && r.Hash != m.chain {
			return m, fmt.Errorf("before step %d: hash %x in the log, %x in the replay", r.Step, r.Hash, m.chain)
		}
		var a reduce.Algorithm
		if err := a.UnmarshalText([]byte(r.Algorithm)); err != nil {
			return m, err
		}
		weights := make([]uint64, len(r.Parts))
		for i, p := range r.Parts {
			if i == len(gradients) {
				gradients, moved = append(gradients, make([]float32, elements)), append(moved, -1)
				fresh(gradients[i])
			}
			var ranges []group.Range
			for _, span := range p.Ranges {
				ranges = append(ranges, group.Range{Lo: span[0], Hi: span[1]})
			}
			if weights[i] = p.Samples; p.Samples > 0 {
				m.moved = moved[i]
				m.gradient(gradients[i], r.Step, r.DataEpoch, ranges, func(int, int) {})
				moved[i] = m.moved
			}
		}
		facts, err := reduce.Serial(a, gradients[:len(r.Parts)], weights, mean)
		if err != nil {
			return m, err
		}
		if facts.Weight != r.Weight {
			return m, fmt.Errorf("step %d: weight %d in the log, %d in the replay", r.Step, r.Weight, facts.Weight)
		}
		if r.Outcome == group.Apply.String() {
			m.update(r.Step, float32(r.Rate), mean)
		} else {
			m.skip(r.Step)
		}
	}
	return m, nil
}
