package data

import (
	"slices"
	"strconv"
)

// pair is one split as read from files: samples and their labels.
type pair struct {
	xFile, yFile string // for errors
	x, y         *Array
	labels       []int32
}

// newPair reads the labels and checks that there are as many as samples.
func newPair(xFile string, x *Array, yFile string, y *Array) (*pair, error) {
	if len(x.Shape) == 0 || x.Shape[0] == 0 {
		return nil, wrongFile(xFile, "the data set is empty")
	}
	if flat := len(y.Shape) == 1 || len(y.Shape) == 2 && y.Shape[1] == 1; !flat {
		return nil, wrongField(yFile, "labels", "have shape %v; want one label per sample", y.Shape)
	}
	labels, err := y.Labels(yFile)
	if err != nil {
		return nil, err
	}
	if len(labels) != x.Shape[0] {
		return nil, wrongFile(yFile, "%d labels for the %d samples of %s", len(labels), x.Shape[0], xFile)
	}
	return &pair{xFile: xFile, yFile: yFile, x: x, y: y, labels: labels}, nil
}

// dataset makes the data set of a split. Two-dimensional samples are images of one channel.
func (p *pair) dataset(classes []string) (Dataset, error) {
	if err := checkLabels(p.yFile, p.labels, len(classes)); err != nil {
		return nil, err
	}
	shape := slices.Clone(p.x.Shape[1:])
	switch len(shape) {
	case 0:
		shape = []int{1}
	case 2:
		shape = append(shape, 1)
	}
	if p.x.Type == U8 {
		return NewBytes(p.xFile, p.x.Data, shape, p.labels, classes)
	}
	return NewFloats(p.xFile, p.x.Floats(), shape, p.labels, classes)
}

// maxClasses bounds the classes that labels alone, without names, may ask for.
const maxClasses = 1 << 20

// numberedClasses names the classes 0, 1, … up to the highest label seen.
func numberedClasses(pairs ...*pair) ([]string, error) {
	highest := int32(0)
	for _, p := range pairs {
		for i, v := range p.labels {
			if v >= maxClasses {
				return nil, wrongField(p.yFile, "label "+strconv.Itoa(i), "%d is out of range: unnamed classes go up to %d", v, maxClasses-1)
			}
			highest = max(highest, v)
		}
	}
	return numberNames(int(highest) + 1), nil
}

func numberNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// pairSet makes a set of a training split and a test split; a nil test split is taken from
// the training split.
func pairSet(train, test *pair, classes []string, opt Options) (*Set, error) {
	pairs := []*pair{train}
	if test != nil {
		pairs = append(pairs, test)
	}
	if classes == nil {
		var err error
		if classes, err = numberedClasses(pairs...); err != nil {
			return nil, err
		}
	}
	var sets []Dataset
	for _, p := range pairs {
		ds, err := p.dataset(classes)
		if err != nil {
			return nil, err
		}
		sets = append(sets, ds)
	}
	if test == nil {
		return opt.split(train.xFile, sets[0])
	}
	if !slices.Equal(sets[0].Shape(), sets[1].Shape()) {
		return nil, wrongField(test.xFile, "sample shape", "is %v in the test split but %v in the training split", sets[1].Shape(), sets[0].Shape())
	}
	return &Set{Train: sets[0], Test: sets[1]}, nil
}
