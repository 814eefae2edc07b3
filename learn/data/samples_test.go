package data

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadSamples(t *testing.T) {
	for _, c := range []struct {
		a     *Array
		shape []int
		want  []float32
	}{
		{array(t, []float32{1, 2, 3, 4}, 2, 2), []int{2}, []float32{1, 2, 3, 4}},
		{array(t, []float32{1, 2}, 2), []int{2}, []float32{1, 2}},
		{array(t, []int64{1, 2}, 2), []int{1}, []float32{1, 2}},
		{array(t, []float32{1, 2}, 2, 1), []int{1}, []float32{1, 2}},
		{array(t, []uint8{0, 255, 51, 102}, 2, 2), []int{2, 2, 1}, []float32{0, 1, 0.2, 0.4}},
		{array(t, []uint8{0, 255, 51, 102}, 2, 1, 2), []int{1, 2, 1}, []float32{0, 1, 0.2, 0.4}},
	} {
		path := filepath.Join(writeNPY(t, map[string]*Array{"s": c.a}), "s.npy")
		if got, err := ReadSamples(path, c.shape); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v as samples of %v: %v, %v", c.a.Shape, c.shape, got, err)
		}
	}
	for want, a := range map[string]*Array{
		"holds an array of shape [3 3]; want a sample of shape [2]": array(t, make([]float32, 9), 3, 3),
		"holds an array of shape [0 2]":                             array(t, []float32{}, 0, 2),
		"sample 1, value 1: is not a finite number":                 array(t, []float32{0, 0, 0, float32(math.Inf(1))}, 2, 2),
	} {
		path := filepath.Join(writeNPY(t, map[string]*Array{"s": a}), "s.npy")
		if _, err := ReadSamples(path, []int{2}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := ReadSamples("none.npy", []int{2}); err == nil {
		t.Error("a file that is not there")
	}
}
