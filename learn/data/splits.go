package data

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// named are arrays that are read by their names: those of an archive, or .npy files that stand
// beside each other.
type named interface {
	has(key string) bool
	Array(key string) (*Array, error)
	label(key string) string // names an array in errors
}

// splits lists the names under which arrays of samples and of labels are kept: Keras's,
// MedMNIST's, and a single split's.
var splits = []splitNames{
	{[2]string{"x_train", "y_train"}, [2]string{"x_test", "y_test"}},
	{[2]string{"train_images", "train_labels"}, [2]string{"test_images", "test_labels"}},
	{train: [2]string{"x", "y"}},
	{train: [2]string{"images", "labels"}},
}

// splitNames are names of samples and labels; those for testing may be empty.
type splitNames struct{ train, test [2]string }

// openSplits reads the arrays of these names, those for testing if there are any.
func openSplits(from named, names splitNames, opt Options) (*Set, error) {
	train, err := readPair(from, names.train)
	if err != nil {
		return nil, err
	}
	var test *pair
	if names.test[0] != "" && from.has(names.test[0]) {
		if test, err = readPair(from, names.test); err != nil {
			return nil, err
		}
	}
	return pairSet(train, test, nil, opt)
}

// readPair reads the samples and labels of a split.
func readPair(from named, names [2]string) (*pair, error) {
	x, err := from.Array(names[0])
	if err != nil {
		return nil, err
	}
	y, err := from.Array(names[1])
	if err != nil {
		return nil, err
	}
	return newPair(from.label(names[0]), x, from.label(names[1]), y)
}

// openNPY reads the samples in a .npy file, such as x_train.npy, with the labels beside them,
// y_train.npy, and, where they stand there as well, x_test.npy and y_test.npy.
func openNPY(file string, opt Options) (*Set, error) {
	stem := strings.TrimSuffix(filepath.Base(file), ".npy")
	for _, names := range splits {
		if names.train[0] != stem {
			continue
		}
		beside := &npyFolder{dir: filepath.Dir(file), limit: opt.limit()}
		if !beside.has(names.train[1]) {
			return nil, wrongFile(file, "no file with its labels stands beside it; want %s.npy", names.train[1])
		}
		return openSplits(beside, names, opt)
	}
	return nil, wrongFile(file, "a .npy file holds one array; samples and their labels go together: call them x.npy and y.npy, "+
		"or put them into one file with numpy.savez(%q, x=samples, y=labels)", stem+".npz")
}

// npyFolder is a folder of .npy files.
type npyFolder struct {
	dir   string
	limit int64 // bytes still allowed, over all arrays read
}

func (n *npyFolder) label(key string) string {
	return path.Join(filepath.ToSlash(n.dir), key+".npy")
}

func (n *npyFolder) has(key string) bool {
	info, err := fs.Stat(os.DirFS(n.dir), key+".npy")
	return err == nil && info.Mode().IsRegular()
}

// Array reads a file.
func (n *npyFolder) Array(key string) (*Array, error) {
	f, err := openFile(filepath.Join(n.dir, key+".npy"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := ReadNPY(f, n.label(key), max(n.limit, 1))
	if err == nil {
		n.limit -= int64(len(a.Data))
	}
	return a, err
}
