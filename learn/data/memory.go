package data

import (
	"fmt"
	"math"
	"slices"
)

// samples is what all data sets in memory share.
type samples struct {
	name  string
	shape []int
	size  int // values per sample
	n     int
}

// newSamples checks that so many values make n samples; by tells in errors how these are counted.
func newSamples(name string, values int, shape []int, n int, by string) (samples, error) {
	s := samples{name: name, shape: slices.Clone(shape), n: n}
	if err := checkShape(name, shape); err != nil {
		return s, err
	}
	s.size = elements(shape)
	if n == 0 {
		return s, wrongFile(name, "the data set is empty")
	}
	if values/s.size != n || values%s.size != 0 {
		return s, wrongFile(name, "%d %s, but %d values make %.4g samples of shape %v", n, by, values, float64(values)/float64(s.size), shape)
	}
	return s, nil
}

func (s *samples) Len() int     { return s.n }
func (s *samples) Shape() []int { return s.shape }

// checkIndex refuses an index outside the data set.
func (s *samples) checkIndex(i int) error {
	if i < 0 || i >= s.n {
		return wrongField(s.name, fmt.Sprintf("sample %d", i), "is out of range 0 to %d", s.n-1)
	}
	return nil
}

// labelled are samples with classes.
type labelled struct {
	samples
	labels  []int32
	classes []string
}

// newLabelled checks everything but the values themselves.
func newLabelled(name string, values int, shape []int, labels []int32, classes []string) (labelled, error) {
	s, err := newSamples(name, values, shape, len(labels), "labels")
	l := labelled{s, labels, classes}
	if err != nil {
		return l, err
	}
	if len(classes) == 0 {
		return l, wrongField(name, "classes", "no class is named")
	}
	return l, checkLabels(name, labels, len(classes))
}

// checkLabels refuses a label that is not one of the classes.
func checkLabels(name string, labels []int32, classes int) error {
	for i, v := range labels {
		if v < 0 || int(v) >= classes {
			return wrongField(name, fmt.Sprintf("label %d", i), "%d is out of range 0 to %d", v, classes-1)
		}
	}
	return nil
}

func (l *labelled) Classes() []string { return l.classes }

// Bytes is a data set of uint8 values in memory, such as the pixels of images.
type Bytes struct {
	labelled
	values []uint8
	// scale maps a value of channel c to scale[c%len(scale)][value]: one table for
	// all channels, or one each.
	scale [][256]float32
}

// NewBytes makes a data set of values, which hold len(labels) samples of the given shape
// one after the other. The name stands in error messages. Values and labels are kept,
// not copied.
func NewBytes(name string, values []uint8, shape []int, labels []int32, classes []string) (*Bytes, error) {
	l, err := newLabelled(name, len(values), shape, labels, classes)
	if err != nil {
		return nil, err
	}
	b := &Bytes{labelled: l, values: values, scale: make([][256]float32, 1)}
	for v := range b.scale[0] {
		b.scale[0][v] = float32(v) / 255
	}
	return b, nil
}

// Storage is Uint8.
func (b *Bytes) Storage() Storage { return Uint8 }

// Batch implements Dataset.
func (b *Bytes) Batch(dst []float32, labels []int32, indices []int) error {
	if err := checkBatch(b, dst, labels, indices); err != nil {
		return err
	}
	for at, i := range indices {
		if err := b.checkIndex(i); err != nil {
			return err
		}
		if labels != nil {
			labels[at] = b.labels[i]
		}
		if dst != nil {
			b.expand(dst[at*b.size:(at+1)*b.size], b.values[i*b.size:(i+1)*b.size])
		}
	}
	return nil
}

// expand looks one sample up in the tables.
func (b *Bytes) expand(dst []float32, src []uint8) {
	if len(b.scale) == 1 {
		table := &b.scale[0]
		dst = dst[:len(src)]
		for i, v := range src {
			dst[i] = table[v]
		}
		return
	}
	channels := len(b.scale)
	for c := range b.scale {
		table := &b.scale[c]
		for i := c; i < len(src); i += channels {
			dst[i] = table[src[i]]
		}
	}
}

// Floats is a data set of float32 values in memory, such as columns of numbers.
type Floats struct {
	labelled
	values []float32
}

// NewFloats makes a data set of values, which hold len(labels) samples of the given shape
// one after the other and are all finite. The name stands in error messages. Values and
// labels are kept, not copied.
func NewFloats(name string, values []float32, shape []int, labels []int32, classes []string) (*Floats, error) {
	l, err := newLabelled(name, len(values), shape, labels, classes)
	if err != nil {
		return nil, err
	}
	if err := checkFinite(name, "value", values, l.size); err != nil {
		return nil, err
	}
	return &Floats{labelled: l, values: values}, nil
}

// checkFinite refuses numbers that are not finite; size of them make a sample.
func checkFinite(name, what string, numbers []float32, size int) error {
	for i, v := range numbers {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return wrongField(name, fmt.Sprintf("sample %d, %s %d", i/size, what, i%size), "is not a finite number: %v", v)
		}
	}
	return nil
}

// Storage is Float32.
func (f *Floats) Storage() Storage { return Float32 }

// Batch implements Dataset.
func (f *Floats) Batch(dst []float32, labels []int32, indices []int) error {
	if err := checkBatch(f, dst, labels, indices); err != nil {
		return err
	}
	if labels != nil {
		for at, i := range indices {
			if err := f.checkIndex(i); err != nil {
				return err
			}
			labels[at] = f.labels[i]
		}
	}
	return f.gather(dst, indices)
}

// gather copies the values of samples, unless dst is nil.
func (f *Floats) gather(dst []float32, indices []int) error {
	for at, i := range indices {
		if err := f.checkIndex(i); err != nil {
			return err
		}
		if dst != nil {
			copy(dst[at*f.size:(at+1)*f.size], f.values[i*f.size:(i+1)*f.size])
		}
	}
	return nil
}
