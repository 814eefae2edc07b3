package data

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeNPY writes arrays as .npy files of these names into a new folder.
func writeNPY(t *testing.T, arrays map[string]*Array) string {
	t.Helper()
	dir := t.TempDir()
	for name, a := range arrays {
		var b bytes.Buffer
		if err := WriteNPY(&b, a); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".npy"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func array[T float32 | uint8 | int32 | int64](t *testing.T, values []T, shape ...int) *Array {
	t.Helper()
	a, err := NewArray(values, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOpenNPY(t *testing.T) {
	x, y := array(t, []uint8{1, 2, 3, 4, 5, 6, 7, 8}, 4, 1, 2), array(t, []int32{5, 9, 5, 9}, 4)
	for first, arrays := range map[string]map[string]*Array{
		"x":            {"x": x, "y": y},
		"images":       {"images": x, "labels": y},
		"x_train":      {"x_train": x, "y_train": y, "x_test": x.Rows(2), "y_test": y.Rows(2)},
		"train_images": {"train_images": x, "train_labels": y},
	} {
		dir := writeNPY(t, arrays)
		set, err := Open(filepath.Join(dir, first+".npy"), Options{})
		if err != nil {
			t.Errorf("%s: %v", first, err)
			continue
		}
		test := 4 - set.Train.Len()
		if first == "x_train" {
			test = 2
		}
		if !slices.Equal(set.Train.Shape(), []int{1, 2, 1}) || !slices.Equal(set.Train.Classes(), []string{"5", "9"}) || test < 1 || set.Test.Len() != test {
			t.Errorf("%s: %d and %d samples of %v, classes %v", first, set.Train.Len(), set.Test.Len(), set.Train.Shape(), set.Train.Classes())
		}
	}
}

func TestOpenNPYRefuses(t *testing.T) {
	x, y := array(t, []float32{1, 2, 3, 4}, 4), array(t, []int64{0, 1, 0, 1}, 4)
	for want, c := range map[string]struct {
		first  string
		arrays map[string]*Array
		limit  int64
	}{
		"call them x.npy and y.npy":                            {"numbers", map[string]*Array{"numbers": x}, 0},
		"no file with its labels stands beside it; want y.npy": {"x", map[string]*Array{"x": x}, 0},
		"y.npy: 3 labels for the 4 samples of":                 {"x", map[string]*Array{"x": x, "y": y.Rows(3)}, 0},
		"y_test.npy: no such file":                             {"x_train", map[string]*Array{"x_train": x, "y_train": y, "x_test": x}, 0},
		"y.npy: at byte 10: dimensions":                        {"x", map[string]*Array{"x": x, "y": y}, 40},
	} {
		dir := writeNPY(t, c.arrays)
		_, err := Open(filepath.Join(dir, c.first+".npy"), Options{Limit: c.limit})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.first+".npy") && c.first == "numbers" {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
