package data

import "slices"

// pair is one split as read from files: samples and their labels.
type pair struct {
	xFile, yFile string // for errors
	x            *Array
	labels       []int64
}

// newPair reads the labels and checks that there are as many as samples.
func newPair(xFile string, x *Array, yFile string, y *Array) (*pair, error) {
	if len(x.Shape) == 0 || x.Shape[0] == 0 {
		return nil, wrongFile(xFile, "the data set is empty")
	}
	if flat := len(y.Shape) == 1 || len(y.Shape) == 2 && y.Shape[1] == 1; !flat {
		return nil, wrongField(yFile, "labels", "have shape %v; want one label per sample", y.Shape)
	}
	labels, err := y.wholeNumbers(yFile)
	if err != nil {
		return nil, err
	}
	if len(labels) != x.Shape[0] {
		return nil, wrongFile(yFile, "%d labels for the %d samples of %s", len(labels), x.Shape[0], xFile)
	}
	return &pair{xFile: xFile, yFile: yFile, x: x, labels: labels}, nil
}

// dataset makes the data set of a split. Two-dimensional samples are images of one channel.
func (p *pair) dataset(n numbering) (Dataset, error) {
	labels, err := n.number(p.yFile, p.labels)
	if err != nil {
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
		return NewBytes(p.xFile, p.x.Data, shape, labels, n.names)
	}
	return NewFloats(p.xFile, p.x.Floats(), shape, labels, n.names)
}

// pairSet makes a set of a training split and a test split; a nil test split is taken from
// the training split. The labels are numbers of the classes; when these are nil the values that
// the training split has are the classes.
func pairSet(train, test *pair, classes []string, opt Options) (*Set, error) {
	n := namedNumbering(classes)
	if classes == nil {
		var err error
		if n, err = numberLabels(train.yFile, train.labels); err != nil {
			return nil, err
		}
	}
	pairs := []*pair{train}
	if test != nil {
		pairs = append(pairs, test)
	}
	var sets []Dataset
	for _, p := range pairs {
		ds, err := p.dataset(n)
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
