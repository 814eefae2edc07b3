package data

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// all reads every sample of a data set.
func all(t testing.TB, ds Dataset) []float32 {
	t.Helper()
	indices := make([]int, ds.Len())
	for i := range indices {
		indices[i] = i
	}
	out := make([]float32, ds.Len()*SampleSize(ds))
	if err := ds.Batch(out, nil, indices); err != nil {
		t.Fatal(err)
	}
	return out
}

// The measured norm is the one of a plain sum over all values, however they are chunked.
func TestMeasureNormAgainstPlainSums(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		last := rapid.IntRange(1, 4).Draw(rt, "channels")
		n := rapid.SampledFrom([]int{1, 2, 7, 200}).Draw(rt, "n")
		shape := []int{16, 32, last} // 200 samples fill several chunks
		values := make([]float32, n*elements(shape))
		r := NewRand(rapid.Uint64().Draw(rt, "seed"), 0, 0, 0)
		for i := range values {
			values[i] = r.Between(3) + float32(100*(i%last))
		}
		ds, err := NewFloats("f", values, shape, make([]int32, n), []string{"a"})
		if err != nil {
			rt.Fatal(err)
		}
		got, err := MeasureNorm(ds)
		if err != nil {
			rt.Fatal(err)
		}
		for c := range last {
			var sum, squares, count float64
			for i := c; i < len(values); i += last {
				sum += float64(values[i])
				count++
			}
			for i := c; i < len(values); i += last {
				squares += math.Pow(float64(values[i])-sum/count, 2)
			}
			mean, std := sum/count, math.Sqrt(squares/count)
			if math.Abs(float64(got.Mean[c])-mean) > 1e-5*(1+math.Abs(mean)) || math.Abs(float64(got.Std[c])-std) > 1e-5 {
				rt.Fatalf("channel %d: got %v ± %v, want %v ± %v", c, got.Mean[c], got.Std[c], mean, std)
			}
		}
	})
}

func TestConstantFeatureGetsDeviationOne(t *testing.T) {
	ds, err := NewFloats("f", []float32{5, 1, 5, 2}, []int{2}, []int32{0, 0}, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := MeasureNorm(ds)
	if err != nil {
		t.Fatal(err)
	}
	if n.Std[0] != 1 || n.Std[1] != 0.5 || n.Mean[0] != 5 {
		t.Errorf("got %+v", n)
	}
}

func TestConstantSamplesAreRefused(t *testing.T) {
	ds, err := NewFloats("f", []float32{5, 1, 5, 1}, []int{2}, []int32{0, 0}, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	var bad *InputError
	if n, err := MeasureNorm(ds); !errors.As(err, &bad) || !strings.Contains(err.Error(), "nothing to learn from") {
		t.Errorf("got %+v, %v", n, err)
	}
}

// Folding the norm into byte tables changes no bit against applying it afterwards.
func TestFoldedNormIsTheSame(t *testing.T) {
	for _, channels := range []int{1, 3} {
		ds := small(t, 6, 3, 2, channels)
		n, err := MeasureNorm(ds)
		if err != nil {
			t.Fatal(err)
		}
		want := all(t, ds)
		n.Apply(want)
		subset, err := NewSubset(ds, []int{0, 1, 2, 3, 4, 5})
		if err != nil {
			t.Fatal(err)
		}
		hidden := struct{ Dataset }{ds} // not known to be bytes
		for _, d := range []Dataset{ds, subset, hidden} {
			folded, err := Normalize(d, n)
			if err != nil {
				t.Fatal(err)
			}
			if got := all(t, folded); !slices.Equal(got, want) {
				t.Errorf("%d channels, %T: folded and applied norms differ", channels, d)
			}
			for c, v := range blank(folded) {
				if want := (0 - n.Mean[c]) / n.Std[c]; v != want {
					t.Errorf("blank of channel %d is %v, want %v", c, v, want)
				}
			}
		}
		if got := blank(ds); !slices.Equal(got, make([]float32, channels)) {
			t.Errorf("blank without a norm is %v", got)
		}
	}
}

// The values that everybody uses for these sets (mean and deviation of the training images).
func TestNormOfTheExtract(t *testing.T) {
	set, err := Open(DefaultName, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := MeasureNorm(set.Train)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(n.Mean[0])-0.2860) > 0.003 || math.Abs(float64(n.Std[0])-0.3530) > 0.003 {
		t.Errorf("got %v ± %v, the full set has 0.2860 ± 0.3530", n.Mean, n.Std)
	}
}

func TestNormIsKeptWithoutLoss(t *testing.T) {
	n := Norm{Mean: []float32{0.1, 1.0 / 3}, Std: []float32{3e-8, 1e20}}
	b, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var back Norm
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(n.Mean, back.Mean) || !slices.Equal(n.Std, back.Std) {
		t.Errorf("%+v came back as %+v", n, back)
	}
}

func TestNormRefusesNonsense(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, n := range []Norm{
		{},
		{Mean: []float32{0, 0}, Std: []float32{1, 1}},
		{Mean: []float32{0}, Std: []float32{0}},
		{Mean: []float32{0}, Std: []float32{-1}},
		{Mean: []float32{nan}, Std: []float32{1}},
		{Mean: []float32{0}, Std: []float32{inf}},
		{Mean: []float32{0}, Std: []float32{nan}},
	} {
		if _, err := Normalize(small(t, 2, 1), n); err == nil {
			t.Errorf("%+v is accepted", n)
		}
	}
}
