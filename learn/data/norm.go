package data

import (
	"fmt"
	"math"
	"slices"
)

// Norm shifts and scales values to (value−mean)/std, with one mean and one deviation for
// each entry of the last axis: per channel of an image, per feature of a vector. It is
// computed on the training split, kept with the model, and used again for evaluation and
// prediction.
type Norm struct {
	Mean []float32 `json:"mean"`
	Std  []float32 `json:"std"`
}

// Validate tells whether the norm fits samples of the given shape.
func (n Norm) Validate(shape []int) error {
	last := shape[len(shape)-1]
	if len(n.Mean) != last || len(n.Std) != last {
		return fmt.Errorf("normalisation has %d means and %d deviations; samples of shape %v need %d", len(n.Mean), len(n.Std), shape, last)
	}
	for i := range n.Mean {
		mean, std := float64(n.Mean[i]), float64(n.Std[i])
		if math.IsNaN(mean) || math.IsInf(mean, 0) || math.IsInf(std, 0) || !(std > 0) {
			return fmt.Errorf("normalisation %d has mean %v and deviation %v; want finite numbers, the deviation above 0", i, mean, std)
		}
	}
	return nil
}

// Apply normalises whole samples in place; their last axis has len(n.Mean) entries.
func (n Norm) Apply(values []float32) {
	if len(n.Mean) == 1 {
		mean, std := n.Mean[0], n.Std[0]
		for i, v := range values {
			values[i] = (v - mean) / std
		}
		return
	}
	for at := 0; at < len(values); at += len(n.Mean) {
		row := values[at : at+len(n.Mean)]
		for c := range row {
			row[c] = (row[c] - n.Mean[c]) / n.Std[c]
		}
	}
}

// MeasureNorm computes the norm of a data set: means and population deviations in float64,
// chunks merged by the pairwise update of Chan, Golub and LeVeque (1979). An entry that
// never varies gets the deviation 1; when none varies that is an error, as there is nothing to
// learn from.
func MeasureNorm(ds Dataset) (Norm, error) {
	last := ds.Shape()[len(ds.Shape())-1]
	size := SampleSize(ds)
	chunk := max(1, min(ds.Len(), (1<<16)/size))
	values := make([]float32, chunk*size)
	indices := make([]int, 0, chunk)
	total := newMoments(last)
	part := newMoments(last)
	for from := 0; from < ds.Len(); from += chunk {
		indices = indices[:0]
		for i := from; i < min(from+chunk, ds.Len()); i++ {
			indices = append(indices, i)
		}
		got := values[:len(indices)*size]
		if err := ds.Batch(got, nil, indices); err != nil {
			return Norm{}, err
		}
		part.measure(got)
		total.merge(part)
	}
	if slices.Max(total.spread) == 0 {
		return Norm{}, wrongFile("training samples", "all of them have the same values: there is nothing to learn from")
	}
	return total.norm(), nil
}

// moments holds, per entry of the last axis, the mean and the sum of squared differences
// from it of n values.
type moments struct {
	n      float64
	mean   []float64
	spread []float64
}

func newMoments(last int) *moments {
	return &moments{mean: make([]float64, last), spread: make([]float64, last)}
}

// measure replaces the moments by those of values, in two passes.
func (m *moments) measure(values []float32) {
	last := len(m.mean)
	m.n = float64(len(values) / last)
	for c := range last {
		var sum, spread float64
		for i := c; i < len(values); i += last {
			sum += float64(values[i])
		}
		mean := sum / m.n
		for i := c; i < len(values); i += last {
			d := float64(values[i]) - mean
			spread += float64(d * d)
		}
		m.mean[c], m.spread[c] = mean, spread
	}
}

// merge adds the values that other has seen.
func (m *moments) merge(other *moments) {
	n := m.n + other.n
	for c := range m.mean {
		d := other.mean[c] - m.mean[c]
		m.spread[c] += other.spread[c] + d*d*m.n*other.n/n
		m.mean[c] += d * other.n / n
	}
	m.n = n
}

func (m *moments) norm() Norm {
	var n Norm
	for c := range m.mean {
		std := float32(math.Sqrt(m.spread[c] / m.n))
		if std == 0 {
			std = 1
		}
		n.Mean = append(n.Mean, float32(m.mean[c]))
		n.Std = append(n.Std, std)
	}
	return n
}

// Normalize returns a data set that gives the samples of ds normalised; targets stay as they are. Uint8 storage
// keeps its bytes: its tables are changed instead, so the normalisation costs nothing.
func Normalize(ds Dataset, n Norm) (Dataset, error) {
	if err := n.Validate(ds.Shape()); err != nil {
		return nil, err
	}
	n = Norm{Mean: slices.Clone(n.Mean), Std: slices.Clone(n.Std)}
	switch d := ds.(type) {
	case *Bytes:
		return &normalized{Dataset: d.normalize(n), norm: n, folded: true}, nil
	case *Subset:
		if b, ok := d.Dataset.(*Bytes); ok {
			return &normalized{Dataset: &Subset{b.normalize(n), d.indices}, norm: n, folded: true}, nil
		}
	}
	return &normalized{Dataset: ds, norm: n}, nil
}

// normalize folds the norm into the tables of a copy that shares the values.
func (b *Bytes) normalize(n Norm) *Bytes {
	out := *b
	out.scale = make([][256]float32, len(n.Mean))
	for c := range out.scale {
		for v := range out.scale[c] {
			out.scale[c][v] = (b.scale[c%len(b.scale)][v] - n.Mean[c]) / n.Std[c]
		}
	}
	return &out
}

// normalized is a data set with a norm applied.
type normalized struct {
	Dataset
	norm   Norm
	folded bool // Dataset gives normalised values already
}

// Batch implements Dataset.
func (d *normalized) Batch(dst []float32, labels []int32, indices []int) error {
	if err := d.Dataset.Batch(dst, labels, indices); err != nil {
		return err
	}
	if dst != nil && !d.folded {
		d.norm.Apply(dst[:len(indices)*SampleSize(d)])
	}
	return nil
}

// TargetSize implements Targeted.
func (d *normalized) TargetSize() int { return TargetSize(d.Dataset) }

// Targets implements Targeted.
func (d *normalized) Targets(dst []float32, indices []int) error {
	return targets(d.Dataset, dst, indices)
}

// blank gives what a stored 0 reads as, per entry of the last axis.
func (d *normalized) blank() []float32 {
	out := make([]float32, len(d.norm.Mean))
	d.norm.Apply(out)
	return out
}

// blank gives, per entry of the last axis, the value that padding an image with nothing
// stands for: what a black pixel reads as.
func blank(ds Dataset) []float32 {
	if d, ok := ds.(interface{ blank() []float32 }); ok {
		return d.blank()
	}
	return make([]float32, ds.Shape()[len(ds.Shape())-1])
}
