package data

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUnknownNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{
		"fasion-mnist":  "fasion-mnist: no data set of this name, and no such file or folder; known are fashion-mnist-mini, fashion-mnist, mnist; did you mean fashion-mnist?",
		"MNIST":         "did you mean fashion-mnist-mini or fashion-mnist or mnist?",
		"mini":          "did you mean fashion-mnist-mini?",
		"imagenet":      "imagenet: no data set of this name, and no such file or folder; known are fashion-mnist-mini, fashion-mnist, mnist",
		"./my/pictures": "./my/pictures: no such file or directory; the data sets known by name are fashion-mnist-mini, fashion-mnist, mnist",
		"flowers.csv":   "flowers.csv: no such file or directory",
		"":              "data set (--data): its name is empty; want a path, or one of fashion-mnist-mini, fashion-mnist, mnist",
	} {
		_, err := Open(name, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
		if bad, ok := errors.AsType[*InputError](err); !ok || !bad.BadInput() {
			t.Errorf("%q: the error is no fault of the input: %v", name, err)
		}
	}
	writeFile(t, "x.train.npy", nil)
	if _, err := Open("x.train.npy", Options{}); err == nil || err.Error() !=
		`x.train.npy: a .npy file holds one array; samples and their labels go together: call them x.npy and y.npy, or put them into one file with numpy.savez("x.train.npz", x=samples, y=labels)` {
		t.Errorf("got %v", err)
	}
	writeFile(t, "notes.txt", []byte("hello"))
	if _, err := Open("notes.txt", Options{}); err == nil || !strings.Contains(err.Error(), "not a kind of data set known here") {
		t.Errorf("got %v", err)
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"mnist", "mnits", 2}} {
		if got := edits(c.a, c.b); got != c.want || edits(c.b, c.a) != got {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// A set that is not here tells where it was looked for and every way to get it.
func TestMissingSetTellsTheWays(t *testing.T) {
	t.Setenv("MILLRACE_DATA", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	_, err := Open("mnist", Options{})
	if err == nil {
		t.Fatal("mnist is found in empty folders")
	}
	for _, want := range []string{"mnist: not found", os.Getenv("MILLRACE_DATA"), "millrace data fetch mnist", "$MILLRACE_DATA/mnist", DefaultName} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %s", err, want)
		}
	}
	list := List()
	if !slices.Equal(Names(), []string{list[0].Name, list[1].Name, list[2].Name}) || list[0].Origin == "" || list[2].Origin != "" || list[2].Advice == "" {
		t.Errorf("got %+v", list)
	}
}

// The user's own folder comes before the others, compressed or not.
func TestOwnFolderComesFirst(t *testing.T) {
	root := t.TempDir()
	t.Setenv("MILLRACE_DATA", root)
	dir := filepath.Join(root, "fashion-mnist")
	digit := func(i int) byte { return byte(i % 10) }
	writePair(t, filepath.Join(dir, trainImages), filepath.Join(dir, trainLabels+".gz"), 30, digit)
	writePair(t, filepath.Join(dir, testImages), filepath.Join(dir, testLabels+".gz"), 10, digit)
	set, err := Open("fashion-mnist", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Origin != dir || set.Train.Len() != 30 || set.Train.Classes()[9] != "Ankle boot" {
		t.Errorf("from %s: %d samples", set.Origin, set.Train.Len())
	}
	if got := List()[1]; got.Origin != dir || got.Advice != "" {
		t.Errorf("got %+v", got)
	}
	counts, err := LabelCounts(set.Train)
	if err != nil || !slices.Equal(counts, []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}) {
		t.Errorf("class counts %v, %v", counts, err)
	}
}
