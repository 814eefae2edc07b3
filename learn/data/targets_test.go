package data

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// numbered makes n samples of two values whose two targets are 10 and 20 times their number.
func numbered(t *testing.T, n int) *Numbers {
	t.Helper()
	var values, targets []float32
	for i := range n {
		values = append(values, float32(i), 1)
		targets = append(targets, float32(10*i), float32(20*i))
	}
	ds, err := NewNumbers("numbers", values, []int{2}, targets, 2)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func TestNumbers(t *testing.T) {
	ds := numbered(t, 5)
	x, y := make([]float32, 4), []int32{7, 7, 7}
	if err := ds.Batch(x, y, []int{3, 1}); err != nil || !slices.Equal(x, []float32{3, 1, 1, 1}) || !slices.Equal(y, []int32{0, 0, 7}) {
		t.Errorf("%v %v %v", x, y, err)
	}
	if ds.Len() != 5 || len(ds.Classes()) != 0 || TargetSize(ds) != 2 || TargetSize(numbered(t, 1)) != 2 {
		t.Errorf("%d samples, classes %v, %d targets", ds.Len(), ds.Classes(), TargetSize(ds))
	}
	if err := ds.Targets(x, []int{5}); err == nil {
		t.Error("a sample out of range")
	}
	if err := ds.Batch(nil, nil, []int{-1}); err == nil {
		t.Error("a sample out of range")
	}
}

// TestTargetsFollowTheirSamples checks every batch of normalised parts of a split, in a random
// order: a sample's targets are its own.
func TestTargetsFollowTheirSamples(t *testing.T) {
	ds := numbered(t, 40)
	first, second, err := Split(ds, 0.3, 1)
	if err != nil || first.Len()+second.Len() != 40 {
		t.Fatalf("%d and %d samples, %v", first.Len(), second.Len(), err)
	}
	norm := Norm{Mean: []float32{-1, 0}, Std: []float32{1, 1}}
	for _, part := range []Dataset{first, second} {
		set, err := Normalize(part, norm)
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewLoader(set, LoaderOptions{Plan: Plan{Batch: 7, Shuffle: true, Seed: 3}, Workers: 2, Epochs: 2})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for {
			b, err := l.Next(context.Background())
			if err != nil {
				break
			}
			if len(b.Targets) != 2*len(b.Indices) {
				t.Fatalf("%d targets of %d samples", len(b.Targets), len(b.Indices))
			}
			for i := range b.Indices {
				seen++
				number := b.X[2*i] - 1
				if b.Targets[2*i] != 10*number || b.Targets[2*i+1] != 20*number {
					t.Errorf("sample %v has the targets %v", number, b.Targets[2*i:2*i+2])
				}
			}
		}
		if l.Close(); seen != 2*part.Len() {
			t.Errorf("%d samples in two epochs of %d", seen, part.Len())
		}
	}
}

func TestSamplesWithClassesHaveNoTargets(t *testing.T) {
	ds, err := NewFloats("f", []float32{1, 2}, []int{1}, []int32{0, 1}, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	part, err := NewSubset(ds, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	if TargetSize(ds) != 0 || TargetSize(part) != 0 || part.Targets(nil, []int{0}) != nil {
		t.Error("targets of samples with classes")
	}
	if err := part.Targets(nil, []int{1}); err == nil {
		t.Error("a sample out of range")
	}
}

func TestNumbersRefuse(t *testing.T) {
	inf := float32(math.Inf(1))
	for want, c := range map[string]struct {
		values, targets []float32
		shape           []int
		each            int
	}{
		"3 numbers do not make samples of 2":                         {[]float32{1}, []float32{1, 2, 3}, []int{1}, 2},
		"0 numbers do not make samples of 0":                         {[]float32{1}, nil, []int{1}, 0},
		"the data set is empty":                                      {nil, nil, []int{1}, 1},
		"2 samples by their targets, but 3 values make 3 samples of": {[]float32{1, 2, 3}, []float32{1, 2}, []int{1}, 1},
		"sample 1, value 0":                                          {[]float32{1, inf}, []float32{1, 2}, []int{1}, 1},
		"sample 1, target 1":                                         {[]float32{1, 2}, []float32{1, 2, 3, -inf}, []int{1}, 2},
		"has 2 dimensions":                                           {[]float32{1}, []float32{1}, []int{1, 1}, 1},
	} {
		if _, err := NewNumbers("n", c.values, c.shape, c.targets, c.each); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
