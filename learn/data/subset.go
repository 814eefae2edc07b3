package data

import (
	"fmt"
	"slices"
)

// Subset is a data set made of some samples of another.
type Subset struct {
	Dataset
	indices []int
}

// NewSubset makes a data set of the samples of ds at indices, in that order.
func NewSubset(ds Dataset, indices []int) (*Subset, error) {
	for _, i := range indices {
		if i < 0 || i >= ds.Len() {
			return nil, fmt.Errorf("subset: sample %d is out of range 0 to %d", i, ds.Len()-1)
		}
	}
	return &Subset{Dataset: ds, indices: slices.Clone(indices)}, nil
}

// Len is the number of samples in the subset.
func (s *Subset) Len() int { return len(s.indices) }

// Batch implements Dataset.
func (s *Subset) Batch(dst []float32, labels []int32, indices []int) error {
	if err := checkBatch(s, dst, labels, indices); err != nil {
		return err
	}
	size := SampleSize(s)
	for at, i := range indices {
		if i < 0 || i >= len(s.indices) {
			return s.outOfRange(i)
		}
		var values []float32
		var label []int32
		if dst != nil {
			values = dst[at*size : (at+1)*size]
		}
		if labels != nil {
			label = labels[at : at+1]
		}
		if err := s.Dataset.Batch(values, label, s.indices[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// TargetSize implements Targeted.
func (s *Subset) TargetSize() int { return TargetSize(s.Dataset) }

// Targets implements Targeted.
func (s *Subset) Targets(dst []float32, indices []int) error {
	size := s.TargetSize()
	for at, i := range indices {
		if i < 0 || i >= len(s.indices) {
			return s.outOfRange(i)
		}
		if err := targets(s.Dataset, dst[at*size:(at+1)*size], s.indices[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Subset) outOfRange(i int) error {
	return fmt.Errorf("subset: sample %d is out of range 0 to %d", i, len(s.indices)-1)
}

// Split divides ds into two parts: each sample goes to the second with the given
// probability, by a hash of its index and the seed. Both parts keep the order of ds and
// hold at least one sample, and the first one at least one of each class, as long as that
// leaves the second one any.
func Split(ds Dataset, fraction float64, seed uint64) (first, second *Subset, err error) {
	keys := make([]uint64, ds.Len())
	for i := range keys {
		r := NewRand(seed, 0, uint64(i), purposeKey("split"))
		keys[i] = r.Uint64()
	}
	return splitByKey(ds, fraction, keys)
}

// splitByKey sends the samples with a key below fraction·2⁶⁴ to the second part. A sample
// keeps its part when others are added or removed, but for the ones that are moved when a
// part would be empty or the first one without a class.
func splitByKey(ds Dataset, fraction float64, keys []uint64) (first, second *Subset, err error) {
	if !(fraction > 0 && fraction < 1) {
		return nil, nil, fmt.Errorf("split: fraction %v is not between 0 and 1", fraction)
	}
	if ds.Len() < 2 {
		return nil, nil, fmt.Errorf("split: %d sample(s) cannot make two parts", ds.Len())
	}
	bound := uint64(fraction * (1 << 63) * 2)
	bound = max(bound, slices.Min(keys)+1) // at least one below
	bound = min(bound, slices.Max(keys))   // at least one not below
	moved, err := spared(ds, keys, bound)
	if err != nil {
		return nil, nil, err
	}
	var a, b []int
	for i, k := range keys {
		if k < bound && !moved[i] {
			b = append(b, i)
		} else {
			a = append(a, i)
		}
	}
	return &Subset{ds, a}, &Subset{ds, b}, nil
}

// spared finds, for each class with all its samples below the bound, the one of the highest key;
// one sample below the bound is always left.
func spared(ds Dataset, keys []uint64, bound uint64) (map[int]bool, error) {
	if len(ds.Classes()) == 0 {
		return nil, nil
	}
	last := make([]int, len(ds.Classes())) // of each class, 1 + the index of its highest key
	below, label := 0, make([]int32, 1)
	for i, k := range keys {
		if err := ds.Batch(nil, label, []int{i}); err != nil {
			return nil, err
		}
		if at := &last[label[0]]; *at == 0 || k > keys[*at-1] {
			*at = i + 1
		}
		if k < bound {
			below++
		}
	}
	moved := map[int]bool{}
	for _, at := range last {
		if at > 0 && keys[at-1] < bound && len(moved) < below-1 {
			moved[at-1] = true
		}
	}
	return moved, nil
}
