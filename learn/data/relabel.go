package data

import (
	"fmt"
	"slices"
)

// relabelled is a data set whose labels are numbers in another list of classes.
type relabelled struct {
	Dataset
	classes []string
	labels  []int32 // new label of each old one
}

// Relabel gives the data set with its labels numbered as in classes, such as those that a model
// was trained on. These hold every class of ds and may hold more.
func Relabel(ds Dataset, classes []string) (Dataset, error) {
	old := ds.Classes()
	if slices.Equal(old, classes) {
		return ds, nil
	}
	place := make(map[string]int32, len(classes))
	for i, name := range classes {
		place[name] = int32(i)
	}
	r := &relabelled{Dataset: ds, classes: slices.Clone(classes), labels: make([]int32, len(old))}
	for i, name := range old {
		at, ok := place[name]
		if !ok {
			return nil, fmt.Errorf("relabel: there is no class %q", name)
		}
		r.labels[i] = at
	}
	return r, nil
}

// Classes are the new ones.
func (r *relabelled) Classes() []string { return r.classes }

// Batch implements Dataset.
func (r *relabelled) Batch(dst []float32, labels []int32, indices []int) error {
	if err := r.Dataset.Batch(dst, labels, indices); err != nil || labels == nil {
		return err
	}
	for i := range indices {
		labels[i] = r.labels[labels[i]]
	}
	return nil
}

// blank is as in the data set beneath.
func (r *relabelled) blank() []float32 { return blank(r.Dataset) }
