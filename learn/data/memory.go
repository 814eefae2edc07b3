package data

import (
	"fmt"
	"math"
	"slices"
)

// labelled is what both kinds of in-memory data set share.
type labelled struct {
	name    string
	shape   []int
	size    int // values per sample
	labels  []int32
	classes []string
}

// newLabelled checks everything but the values themselves.
func newLabelled(name string, values int, shape []int, labels []int32, classes []string) (labelled, error) {
	l := labelled{name: name, shape: slices.Clone(shape), labels: labels, classes: classes}
	if err := checkShape(name, shape); err != nil {
		return l, err
	}
	l.size = elements(shape)
	if len(labels) == 0 {
		return l, wrongFile(name, "the data set is empty")
	}
	if values/l.size != len(labels) || values%l.size != 0 {
		return l, wrongFile(name, "%d labels, but %d values make %.4g samples of shape %v", len(labels), values, float64(values)/float64(l.size), shape)
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

func (l *labelled) Len() int          { return len(l.labels) }
func (l *labelled) Shape() []int      { return l.shape }
func (l *labelled) Classes() []string { return l.classes }

// checkIndex refuses an index outside the data set.
func (l *labelled) checkIndex(i int) error {
	if i < 0 || i >= len(l.labels) {
		return wrongField(l.name, fmt.Sprintf("sample %d", i), "is out of range 0 to %d", len(l.labels)-1)
	}
	return nil
}

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
	for i, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, wrongField(name, fmt.Sprintf("sample %d, value %d", i/l.size, i%l.size), "is not a finite number: %v", v)
		}
	}
	return &Floats{labelled: l, values: values}, nil
}

// Storage is Float32.
func (f *Floats) Storage() Storage { return Float32 }

// Batch implements Dataset.
func (f *Floats) Batch(dst []float32, labels []int32, indices []int) error {
	if err := checkBatch(f, dst, labels, indices); err != nil {
		return err
	}
	for at, i := range indices {
		if err := f.checkIndex(i); err != nil {
			return err
		}
		if labels != nil {
			labels[at] = f.labels[i]
		}
		if dst != nil {
			copy(dst[at*f.size:(at+1)*f.size], f.values[i*f.size:(i+1)*f.size])
		}
	}
	return nil
}
