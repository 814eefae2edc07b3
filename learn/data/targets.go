package data

// Targeted is a data set whose samples have numbers as targets, in place of classes. It has no
// classes, and the labels that Batch writes are 0.
type Targeted interface {
	Dataset
	// TargetSize is the number of targets of a sample, 0 when it has a class.
	TargetSize() int
	// Targets writes the targets of the samples at indices into dst, one sample after the other;
	// dst holds at least len(indices)·TargetSize numbers. It allocates nothing unless it fails.
	Targets(dst []float32, indices []int) error
}

// TargetSize is the number of targets that each sample of ds has; 0 when it has a class.
func TargetSize(ds Dataset) int {
	if t, ok := ds.(Targeted); ok {
		return t.TargetSize()
	}
	return 0
}

// targets writes the targets of samples, of which there are none unless ds is Targeted.
func targets(ds Dataset, dst []float32, indices []int) error {
	if t, ok := ds.(Targeted); ok {
		return t.Targets(dst, indices)
	}
	return nil
}

// Numbers is a data set of float32 values in memory with numbers as targets. Where a model has
// several inputs, a sample's values are those of all of them, one after the other; its targets
// are those of all outputs. A class or an index is a whole number among them.
type Numbers struct {
	Floats
	targets []float32
	each    int
}

// NewNumbers makes a data set of values, which hold samples of the given shape one after the
// other, and of as many targets for each of them. All are finite. The name stands in error
// messages. Values and targets are kept, not copied.
func NewNumbers(name string, values []float32, shape []int, targets []float32, each int) (*Numbers, error) {
	if each < 1 || len(targets)%each != 0 {
		return nil, wrongField(name, "targets", "%d numbers do not make samples of %d", len(targets), each)
	}
	s, err := newSamples(name, len(values), shape, len(targets)/each, "samples by their targets")
	if err != nil {
		return nil, err
	}
	if err := checkFinite(name, "value", values, s.size); err != nil {
		return nil, err
	}
	if err := checkFinite(name, "target", targets, each); err != nil {
		return nil, err
	}
	return &Numbers{Floats{labelled{samples: s}, values}, targets, each}, nil
}

// Batch implements Dataset.
func (n *Numbers) Batch(dst []float32, labels []int32, indices []int) error {
	if err := checkBatch(n, dst, labels, indices); err != nil {
		return err
	}
	if labels != nil {
		clear(labels[:len(indices)])
	}
	return n.gather(dst, indices)
}

// TargetSize implements Targeted.
func (n *Numbers) TargetSize() int { return n.each }

// Targets implements Targeted.
func (n *Numbers) Targets(dst []float32, indices []int) error {
	for at, i := range indices {
		if err := n.checkIndex(i); err != nil {
			return err
		}
		copy(dst[at*n.each:(at+1)*n.each], n.targets[i*n.each:])
	}
	return nil
}
