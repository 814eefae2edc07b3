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
			return fmt.Errorf("subset: sample %d is out of range 0 to %d", i, len(s.indices)-1)
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

// Split divides ds into two parts: each sample goes to the second with the given
// probability, by a hash of its index and the seed. Both parts keep the order of ds and
// hold at least one sample.
func Split(ds Dataset, fraction float64, seed uint64) (first, second *Subset, err error) {
	keys := make([]uint64, ds.Len())
	for i := range keys {
		r := NewRand(seed, 0, uint64(i), purposeKey("split"))
		keys[i] = r.Uint64()
	}
	return splitByKey(ds, fraction, keys)
}

// splitByKey sends the samples with a key below fraction·2⁶⁴ to the second part. A sample
// keeps its part when others are added or removed, but for the one that is moved when a
// part would be empty.
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
	var a, b []int
	for i, k := range keys {
		if k < bound {
			b = append(b, i)
		} else {
			a = append(a, i)
		}
	}
	return &Subset{ds, a}, &Subset{ds, b}, nil
}
