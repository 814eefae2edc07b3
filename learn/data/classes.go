package data

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// maxClasses bounds the classes that labels may ask for: the last layer of a network, and so its
// memory, grows with them.
const maxClasses = 1 << 16

// fewClasses is the number of classes up to which any number of samples will do.
const fewClasses = 100

// notAClass says what to do about a label that is a measured number.
const notAClass = "%v is not a whole number; labels are classes, and numbers are not predicted here: " +
	"divide them into ranges and give each sample the number or the name of its range"

// support tells whether so many samples can teach so many classes. A column of prices or of
// customers' numbers taken for labels makes nearly as many classes as there are samples.
func support(classes, samples int) error {
	if classes > fewClasses && classes > samples/2 {
		return fmt.Errorf("%d samples have %d different labels, which leaves fewer than two to learn each class from: are these labels classes?", samples, classes)
	}
	return nil
}

// numberNames names the classes of a set whose labels are 0 to n-1.
func numberNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// numbering is which values of the labels stand for which classes: values[i] for class i.
type numbering struct {
	values []int64 // ascending
	names  []string
}

// namedNumbering is that of labels which are the classes' numbers.
func namedNumbering(names []string) numbering {
	n := numbering{values: make([]int64, len(names)), names: names}
	for i := range n.values {
		n.values[i] = int64(i)
	}
	return n
}

// numberLabels makes a class of every value that occurs, in ascending order. File names the
// labels in errors.
func numberLabels(file string, labels []int64) (numbering, error) {
	seen := map[int64]bool{}
	last := 0 // sample that brought the last new value
	for i, v := range labels {
		if seen[v] {
			continue
		}
		if len(seen) == maxClasses {
			return numbering{}, wrongField(file, fmt.Sprintf("label %d", i), "there are more than %d different labels: are these labels classes?", maxClasses)
		}
		seen[v] = true
		last = i
	}
	if err := support(len(seen), len(labels)); err != nil {
		return numbering{}, wrongField(file, fmt.Sprintf("label %d", last), "%w", err)
	}
	n := numbering{values: slices.Sorted(maps.Keys(seen))}
	for _, v := range n.values {
		n.names = append(n.names, strconv.FormatInt(v, 10))
	}
	return n, nil
}

// number turns labels into classes. One that stands for no class is out of range.
func (n numbering) number(file string, labels []int64) ([]int32, error) {
	classes := make([]int32, len(labels))
	for i, v := range labels {
		at, ok := slices.BinarySearch(n.values, v)
		if !ok {
			return nil, wrongField(file, fmt.Sprintf("label %d", i), "%d is out of range%s", v, n.span(v))
		}
		classes[i] = int32(at)
	}
	return classes, nil
}

// span says in which range v is not.
func (n numbering) span(v int64) string {
	first, last := n.values[0], n.values[len(n.values)-1]
	if v > first && v < last {
		return ": no training sample has this label"
	}
	return fmt.Sprintf(" %d to %d", first, last)
}

// wholeNumbers reads the elements as labels. File names the array in errors.
func (a *Array) wholeNumbers(file string) ([]int64, error) {
	out := make([]int64, a.Len())
	for i := range out {
		if a.Type != F32 && a.Type != F64 {
			out[i] = a.integer(i)
			continue
		}
		v := a.Float(i)
		if !whole(v) {
			return nil, wrongField(file, fmt.Sprintf("label %d", i), notAClass, v)
		}
		out[i] = int64(v)
	}
	return out, nil
}

// whole tells whether v is a whole number that a float64 holds exactly.
func whole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) <= 1<<53 }
