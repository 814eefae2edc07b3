package data

import (
	"fmt"
	"math"
)

// Storage is how a data set keeps its values.
type Storage int

const (
	// Uint8 values take one byte each and are read as value/255.
	Uint8 Storage = iota
	// Float32 values are read as they are.
	Float32
)

// String names the storage.
func (s Storage) String() string {
	switch s {
	case Uint8:
		return "uint8"
	case Float32:
		return "float32"
	}
	return fmt.Sprintf("Storage(%d)", int(s))
}

// Dataset is a fixed list of labelled samples of one shape. Implementations are
// safe for use by many goroutines at once.
type Dataset interface {
	// Len is the number of samples.
	Len() int
	// Shape is the shape of a sample: height, width, channels for an image, or the number
	// of features alone. The caller does not change it.
	Shape() []int
	// Classes holds the name of each class; labels count from 0 to len(Classes())-1.
	// The caller does not change it.
	Classes() []string
	// Storage is how the values are kept.
	Storage() Storage
	// Batch writes the samples at indices into dst, one after the other in row-major order
	// (channels last), and their labels into labels. dst holds at least
	// len(indices)·SampleSize values and labels at least len(indices); a nil dst or nil labels
	// is left out. It allocates nothing unless it fails.
	Batch(dst []float32, labels []int32, indices []int) error
}

// Set is what a name or path stands for: a training split and a test split with the
// same shape and classes.
type Set struct {
	Name   string  // as asked for
	Origin string  // where it was found, in words or as a path
	Train  Dataset // never empty
	Test   Dataset // never empty
	// Skipped lists the files that could not be read and were left out on request.
	Skipped []string
}

// SampleSize is the number of values in one sample of ds.
func SampleSize(ds Dataset) int { return elements(ds.Shape()) }

// elements multiplies the dims, which are known to fit.
func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// product multiplies dims of unknown origin; ok is false when one is negative or the
// product times size does not fit in an int.
func product(dims []int, size int) (n int, ok bool) {
	n = 1
	for _, d := range dims {
		if d < 0 || (d > 0 && n > math.MaxInt/d) {
			return 0, false
		}
		n *= d
	}
	if size > 0 && n > math.MaxInt/size {
		return 0, false
	}
	return n, true
}

// checkShape accepts {features} and {height, width, channels}.
func checkShape(name string, shape []int) error {
	if len(shape) != 1 && len(shape) != 3 {
		return wrongField(name, "sample shape", "%v has %d dimensions; want 1 (features) or 3 (height, width, channels)", shape, len(shape))
	}
	for _, d := range shape {
		if d <= 0 {
			return wrongField(name, "sample shape", "%v has an empty dimension", shape)
		}
	}
	if _, ok := product(shape, 8); !ok {
		return wrongField(name, "sample shape", "%v is too large", shape)
	}
	return nil
}

// checkBatch tells whether Batch's arguments fit together.
func checkBatch(ds Dataset, dst []float32, labels []int32, indices []int) error {
	if need := len(indices) * SampleSize(ds); dst != nil && len(dst) < need {
		return fmt.Errorf("batch of %d samples needs room for %d values, got %d", len(indices), need, len(dst))
	}
	if labels != nil && len(labels) < len(indices) {
		return fmt.Errorf("batch of %d samples needs room for as many labels, got %d", len(indices), len(labels))
	}
	return nil
}
