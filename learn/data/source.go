package data

import (
	"os"
	"path/filepath"
	"strings"
)

// Options say how to read a data set from files. The zero value suits most.
type Options struct {
	// TestFraction of the samples becomes the test split when the files have none; 0 means 0.2.
	// With 1 every sample is in both splits, to measure a model that was trained on others, and
	// one class is enough.
	TestFraction float64
	// LabelColumn of a CSV file: its name, or its number counted from 1. Empty means the column
	// called label, class, target or y, else the last one.
	LabelColumn string
	// Height and Width to which the images of a folder are scaled; 0 means those of its first
	// image, 64 at most.
	Height, Width int
	// Color keeps three channels of the images of a folder instead of grey alone.
	Color bool
	// SkipBad leaves out images that cannot be read and lists them in Set.Skipped.
	SkipBad bool
	// Limit in bytes on what a data set may take in memory; 0 means DefaultLimit.
	Limit int64
}

func (o Options) limit() int64 {
	if o.Limit > 0 {
		return o.Limit
	}
	return DefaultLimit
}

func (o Options) testFraction() float64 {
	if o.TestFraction != 0 {
		return o.TestFraction
	}
	return 0.2
}

// split makes a set of one data set that has no test split.
func (o Options) split(name string, ds Dataset) (*Set, error) {
	if o.TestFraction == 1 {
		return &Set{Train: ds, Test: ds}, nil
	}
	train, test, err := Split(ds, o.testFraction(), 0)
	if err != nil {
		return nil, &InputError{File: name, Offset: -1, Err: err}
	}
	return &Set{Train: train, Test: test}, nil
}

// Open reads the data set that name stands for: one of Names, or the path of a folder of
// images, a folder with MNIST's four files, a .csv or .tsv file, an .npz file, or a file of
// samples in .npy or IDX format with its labels beside it.
func Open(name string, opt Options) (*Set, error) {
	set, err := open(name, opt)
	if err != nil {
		return nil, err
	}
	if classes := set.Train.Classes(); len(classes) == 1 && opt.TestFraction != 1 {
		return nil, wrongFile(name, "every sample is of the class %q; want two classes at least, with one there is nothing to learn", classes[0])
	}
	set.Name = name
	if set.Origin == "" {
		set.Origin = name
	}
	return set, nil
}

func open(name string, opt Options) (*Set, error) {
	if p := lookup(name); p != nil {
		return p.open(opt)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, unknown(name, err)
	}
	if info.IsDir() {
		if hasFour(os.DirFS(name)) {
			return openFour(os.DirFS(name), filepath.ToSlash(name), nil, opt)
		}
		return openFolder(name, opt)
	}
	base := strings.ToLower(filepath.Base(name))
	switch {
	case strings.HasSuffix(base, ".csv"), strings.HasSuffix(base, ".tsv"):
		return openCSV(name, opt)
	case strings.HasSuffix(base, ".npz"):
		return openNPZ(name, opt)
	case strings.HasSuffix(base, ".npy"):
		return openNPY(name, opt)
	case strings.Contains(base, "-idx"):
		return openIDXPair(name, opt)
	}
	return nil, wrongFile(name, "not a kind of data set known here; want a folder, .csv, .tsv, .npz, .npy or IDX files")
}

// unknown says that a name is neither known nor a path, and what may have been meant.
func unknown(name string, cause error) error {
	if name == "" {
		return wrongFile("data set (--data)", "its name is empty; want a path, or one of %s", strings.Join(Names(), ", "))
	}
	if strings.ContainsAny(name, `/\.`) {
		return wrongFile(name, "%w; the data sets known by name are %s", plainCause(cause), strings.Join(Names(), ", "))
	}
	hint := ""
	if near := nearest(name, Names()); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return wrongFile(name, "no data set of this name, and no such file or folder; known are %s%s", strings.Join(Names(), ", "), hint)
}

// nearest picks the candidates that a misspelt name may mean: few edits away, or holding
// the name.
func nearest(name string, candidates []string) []string {
	name = strings.ToLower(name)
	var near []string
	for _, c := range candidates {
		if edits(name, c) <= max(2, len(c)/4) || len(name) >= 3 && strings.Contains(c, name) {
			near = append(near, c)
		}
	}
	return near
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// LabelCounts gives the number of samples of each class.
func LabelCounts(ds Dataset) ([]int, error) {
	labels := make([]int32, 1)
	counts := make([]int, len(ds.Classes()))
	for i := range ds.Len() {
		if err := ds.Batch(nil, labels, []int{i}); err != nil {
			return nil, err
		}
		counts[labels[0]]++
	}
	return counts, nil
}
