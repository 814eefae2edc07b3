package data

import (
	"bytes"
	"fmt"
	"image/color"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every label gets the class that is called like it, and the classes ascend.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfN(rapid.Int64Range(-50, 50), 1, 200).Draw(t, "labels")
		n, err := numberLabels("l", labels)
		if err != nil {
			t.Fatal(err)
		}
		classes, err := n.number("l", labels)
		if err != nil {
			t.Fatal(err)
		}
		used := map[int32]bool{}
		for i, c := range classes {
			used[c] = true
			if n.names[c] != fmt.Sprint(labels[i]) {
				t.Fatalf("label %d became the class %s", labels[i], n.names[c])
			}
		}
		if len(used) != len(n.names) || !slices.IsSorted(n.values) {
			t.Fatalf("%d classes are used of %v", len(used), n.values)
		}
	})
}

func TestNumberingRefuses(t *testing.T) {
	counted := func(n, step int) []int64 {
		labels := make([]int64, n)
		for i := range labels {
			labels[i] = int64(i / step)
		}
		return labels
	}
	for _, c := range []struct {
		labels []int64
		want   string
	}{
		{counted(100, 1), ""},
		{counted(202, 2), ""},
		{append(counted(201, 2), 999), "l: label 201: 202 samples have 102 different labels"},
		{counted(101, 1), "l: label 100: 101 samples have 101 different labels"},
		{counted(2*maxClasses, 2), ""},
		{counted(maxClasses+1, 1), "l: label 65536: there are more than 65536 different labels"},
	} {
		_, err := numberLabels("l", c.labels)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%d labels: got %v, want %s", len(c.labels), err, c.want)
		}
	}
	n, err := numberLabels("l", []int64{2020, 2022})
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[int64]string{
		2019: "l: label 0: 2019 is out of range 2020 to 2022",
		2023: "l: label 0: 2023 is out of range 2020 to 2022",
		2021: "l: label 0: 2021 is out of range: no training sample has this label",
	} {
		if _, err := n.number("l", []int64{v}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// writeNPZ writes a set with one uint8 value a sample; the test split may be nil.
func writeNPZ[T int64 | float32](t *testing.T, train, test []T) string {
	t.Helper()
	array := func(a *Array, err error) *Array {
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	arrays := []NamedArray{
		{"x_train", array(NewArray(make([]uint8, len(train)), len(train), 1))}, {"y_train", array(NewArray(train, len(train)))},
	}
	if test != nil {
		arrays = append(arrays,
			NamedArray{"x_test", array(NewArray(make([]uint8, len(test)), len(test), 1))}, NamedArray{"y_test", array(NewArray(test, len(test)))})
	}
	var buf bytes.Buffer
	if err := WriteNPZ(&buf, arrays); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "set.npz")
	writeFile(t, path, buf.Bytes())
	return path
}

func labelsOf(t *testing.T, ds Dataset) []int32 {
	t.Helper()
	labels, indices := make([]int32, ds.Len()), make([]int, ds.Len())
	for i := range indices {
		indices[i] = i
	}
	if err := ds.Batch(nil, labels, indices); err != nil {
		t.Fatal(err)
	}
	return labels
}

func TestArchivesClassesAreTheirLabels(t *testing.T) {
	for name, path := range map[string]string{
		"whole": writeNPZ(t, []int64{2022, 2020, 2021, 2020}, []int64{2021}),
		"float": writeNPZ(t, []float32{2022, 2020, 2021, 2020}, []float32{2021}),
	} {
		set, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(set.Train.Classes(), []string{"2020", "2021", "2022"}) {
			t.Errorf("%s: classes %v", name, set.Train.Classes())
		}
		if got := labelsOf(t, set.Train); !slices.Equal(got, []int32{2, 0, 1, 0}) {
			t.Errorf("%s: labels %v", name, got)
		}
		if got := labelsOf(t, set.Test); !slices.Equal(got, []int32{1}) {
			t.Errorf("%s: test labels %v", name, got)
		}
	}
}

// A label that the training split lacks names the file or array and the sample.
func TestLabelOfTheTestSplitAlone(t *testing.T) {
	path := writeNPZ(t, []int64{0, 1, 2, 0}, []int64{1, 3})
	if _, err := Open(path, Options{}); err == nil || err.Error() != filepath.ToSlash(path)+": y_test.npy: label 1: 3 is out of range 0 to 2" {
		t.Errorf("got %v", err)
	}
	dir := t.TempDir()
	writePair(t, filepath.Join(dir, trainImages), filepath.Join(dir, trainLabels+".gz"), 9, func(i int) byte { return byte(i % 3) })
	writePair(t, filepath.Join(dir, testImages), filepath.Join(dir, testLabels+".gz"), 4, func(i int) byte { return byte(i) })
	want := filepath.ToSlash(dir) + "/" + testLabels + ".gz: label 3: 3 is out of range 0 to 2"
	for _, name := range []string{dir, filepath.Join(dir, trainImages)} {
		if _, err := Open(name, Options{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestOneClassServesToMeasureAlone(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "only", "a.png"), plain(t, ".png", 2, 2, color.Gray{0}))
	writeFile(t, filepath.Join(folder, "only", "b.png"), plain(t, ".png", 2, 2, color.Gray{9}))
	table := filepath.Join(t.TempDir(), "t.csv")
	writeFile(t, table, []byte("a,label\n1,only\n2,only\n3,only\n"))
	for path, class := range map[string]string{folder: "only", table: "only", writeNPZ(t, []int64{7, 7, 7}, nil): "7"} {
		want := fmt.Sprintf("%s: every sample is of the class %q; want two classes at least", path, class)
		if _, err := Open(path, Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		set, err := Open(path, Options{TestFraction: 1})
		if err != nil {
			t.Fatal(err)
		}
		if n := set.Test.Len(); n != set.Train.Len() || n < 2 {
			t.Errorf("%s: %d samples to measure with all of them", path, n)
		}
	}
}
