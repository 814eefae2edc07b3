package data

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The four files of MNIST and of the sets that follow it, without ".gz".
const (
	trainImages = "train-images-idx3-ubyte"
	trainLabels = "train-labels-idx1-ubyte"
	testImages  = "t10k-images-idx3-ubyte"
	testLabels  = "t10k-labels-idx1-ubyte"
)

// fourFiles in the order of openFour.
var fourFiles = [...]string{trainImages, trainLabels, testImages, testLabels}

// findIDX gives the name under which a folder holds an IDX file, compressed or not; "" when
// it does not.
func findIDX(folder fs.FS, name string) string {
	for _, try := range []string{name, name + ".gz"} {
		if info, err := fs.Stat(folder, try); err == nil && info.Mode().IsRegular() {
			return try
		}
	}
	return ""
}

// hasFour tells whether a folder holds the four files.
func hasFour(folder fs.FS) bool {
	for _, name := range fourFiles {
		if findIDX(folder, name) == "" {
			return false
		}
	}
	return true
}

// openFour reads the four files of a folder, which stands under the name label in errors.
// Nil classes are numbered.
func openFour(folder fs.FS, label string, classes []string, opt Options) (*Set, error) {
	var pairs [2]*pair
	for i := range pairs {
		p, err := openPair(folder, label, findIDX(folder, fourFiles[2*i]), findIDX(folder, fourFiles[2*i+1]), opt)
		if err != nil {
			return nil, err
		}
		pairs[i] = p
	}
	return pairSet(pairs[0], pairs[1], classes, opt)
}

// openPair reads one file of samples and one of labels.
func openPair(folder fs.FS, label, xName, yName string, opt Options) (*pair, error) {
	x, err := readIDXIn(folder, label, xName, opt)
	if err != nil {
		return nil, err
	}
	y, err := readIDXIn(folder, label, yName, opt)
	if err != nil {
		return nil, err
	}
	return newPair(path.Join(label, xName), x, path.Join(label, yName), y)
}

func readIDXIn(folder fs.FS, label, name string, opt Options) (*Array, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, &InputError{File: path.Join(label, name), Offset: -1, Err: plainCause(err)}
	}
	defer f.Close()
	return ReadIDX(f, path.Join(label, name), opt.limit())
}

// openIDXPair reads the samples at a path, such as train-images-idx3-ubyte.gz, with the
// labels beside them, whose name has "labels" for "images" and "idx1" for the rank. The
// test split is the pair beside it that is called t10k or test instead of train; without
// one it is taken from the samples.
func openIDXPair(samples string, opt Options) (*Set, error) {
	dir, base := filepath.Split(filepath.Clean(samples))
	if dir == "" {
		dir = "."
	}
	folder := os.DirFS(dir)
	labels := labelsBeside(folder, base)
	if labels == "" {
		return nil, wrongFile(samples, "no file with its labels stands beside it; want the same name with %q for %q", "labels-idx1", "images-idx3")
	}
	train, err := openPair(folder, filepath.ToSlash(dir), base, labels, opt)
	if err != nil {
		return nil, err
	}
	test, err := openTestPair(folder, filepath.ToSlash(dir), base, opt)
	if err != nil {
		return nil, err
	}
	return pairSet(train, test, nil, opt)
}

// labelsBeside gives the name of the labels that belong to a file of samples.
func labelsBeside(folder fs.FS, base string) string {
	stem := strings.TrimSuffix(base, ".gz")
	at := strings.LastIndex(stem, "images-idx")
	if at < 0 || len(stem) <= at+len("images-idx") {
		return ""
	}
	rest := stem[at+len("images-idx")+1:] // after the rank's digit
	return findIDX(folder, stem[:at]+"labels-idx1"+rest)
}

// openTestPair reads the test split beside a training split; nil when there is none.
func openTestPair(folder fs.FS, label, base string, opt Options) (*pair, error) {
	stem := strings.TrimSuffix(base, ".gz")
	rest, isTrain := strings.CutPrefix(stem, "train")
	if !isTrain {
		return nil, nil
	}
	for _, prefix := range []string{"t10k", "test"} {
		x := findIDX(folder, prefix+rest)
		if x == "" {
			continue
		}
		y := labelsBeside(folder, x)
		if y == "" {
			return nil, wrongFile(path.Join(label, x), "no file with its labels stands beside it")
		}
		return openPair(folder, label, x, y, opt)
	}
	return nil, nil
}
