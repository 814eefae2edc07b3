package train

import (
	"context"
	"math"
	"testing"

	"millrace.dev/learn/data"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// TestEvaluateCountsEverySampleOnce compares an evaluation in batches, the last one short, with
// one of single samples.
func TestEvaluateCountsEverySampleOnce(t *testing.T) {
	cfg := config(t)
	cfg.Steps = 5
	tr := mustTrain(t, cfg)
	set := blobs(t, evalBatch+13, 4)
	seen := make([]int, set.Len())
	whole, err := tr.Evaluate(context.Background(), set, func(b *data.Batch, _ [][]float32) {
		for _, i := range b.Indices {
			seen[i]++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var single Metrics
	for i := range set.Len() {
		if seen[i] != 1 {
			t.Fatalf("sample %d was seen %d times", i, seen[i])
		}
		one, err := data.NewSubset(set, []int{i})
		if err != nil {
			t.Fatal(err)
		}
		m, err := tr.Evaluate(context.Background(), one, nil)
		if err != nil {
			t.Fatal(err)
		}
		single.Samples += m.Samples
		single.Correct += m.Correct
		single.LossSum += m.LossSum
	}
	if whole.Samples != single.Samples || whole.Correct != single.Correct || math.Abs(whole.LossSum-single.LossSum) > 1e-3 {
		t.Errorf("in batches %+v, one by one %+v", whole, single)
	}
	total := 0
	for _, row := range whole.Confusion {
		for _, n := range row {
			total += n
		}
	}
	if total != set.Len() {
		t.Errorf("the confusion matrix counts %d of %d samples", total, set.Len())
	}
}

// TestEvaluationFitsMemory bounds what a batch of large samples takes.
func TestEvaluationFitsMemory(t *testing.T) {
	for size, want := range map[int]int{1: 7, 784: 7, 1 << 18: 4, 1 << 19: 2, 1 << 21: 1} {
		set, err := data.NewBytes("large", make([]uint8, 7*size), []int{size}, make([]int32, 7), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		if got := evalBatchOf(set); got != want {
			t.Errorf("a batch of %d samples of %d values, want %d", got, size, want)
		}
	}
	if got := evalBatchOf(blobs(t, 300, 1)); got != evalBatch {
		t.Errorf("a batch of %d small samples", got)
	}
}

// TestConfusionIsBounded has as many classes as a confusion matrix is counted for, and one more.
func TestConfusionIsBounded(t *testing.T) {
	e := newEngine(t, 1)
	for classes, want := range map[int]int{MaxConfusion: MaxConfusion, MaxConfusion + 1: 0} {
		m, err := nn.Sequential("wide", nn.Input("x", 2), nn.Dense{Units: classes})
		if err != nil {
			t.Fatal(err)
		}
		set, err := data.NewFloats("few", []float32{1, 2, 3, 4}, []int{2}, []int32{0, int32(classes - 1)}, make([]string, classes))
		if err != nil {
			t.Fatal(err)
		}
		tr, err := New(Config{Model: m, Optimizer: optim.SGD(0), Schedule: optim.Constant(0.1), Train: set, Valid: set, Batch: 2, Epochs: 1, Engine: e})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if e := tr.State().Epochs[0]; e.Valid.Samples != 2 || e.Valid.Confusion != nil {
			t.Errorf("%d classes: the validation measured %d samples, its matrix has %d rows", classes, e.Valid.Samples, len(e.Valid.Confusion))
		}
		got, err := tr.Evaluate(context.Background(), set, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Samples != 2 || len(got.Confusion) != want {
			t.Errorf("%d classes: %d samples, a matrix of %d rows, want %d", classes, got.Samples, len(got.Confusion), want)
		}
	}
}

func TestMetrics(t *testing.T) {
	m := Metrics{Confusion: [][]int{make([]int, 6), nil, make([]int, 6), nil, nil, make([]int, 6)}}
	m.add(2, []float32{
		9, 1, 2, 3, 4, 5, // right
		9, 8, 3, 6, 7, 5, // label 2 is the sixth
		1, 2, 3, 4, 6, 5, // label 5 is the second
	}, []int32{0, 2, 5}, nil)
	if m.Samples != 3 || m.Correct != 1 || m.InTop != 2 || m.LossSum != 6 || m.Loss() != 2 ||
		m.Confusion[0][0] != 1 || m.Confusion[2][0] != 1 || m.Confusion[5][4] != 1 {
		t.Errorf("got %+v", m)
	}
	ignore := int32(2)
	m = Metrics{}
	m.add(3, []float32{1, 2, 3, 1, 2, 3}, []int32{2, 1}, &ignore)
	m.add(0, []float32{1, 2, 3}, []int32{2}, &ignore)
	if m.Samples != 1 || m.LossSum != 3 || m.Correct != 0 {
		t.Errorf("with an ignored label: %+v", m)
	}
	if (Metrics{}).Loss() != 0 || (Metrics{}).Accuracy() != 0 {
		t.Error("metrics of nothing")
	}
}

// TestIgnoredLabel trains with a class that does not count: the model never learns it.
func TestIgnoredLabel(t *testing.T) {
	cfg := config(t)
	ignore := int32(1)
	cfg.Loss = nn.Loss{Ignore: &ignore}
	tr := mustTrain(t, cfg)
	e := tr.State().Epochs[0]
	if e.Train.Samples != 67 || e.Valid.Samples != 27 {
		t.Errorf("%d training and %d validation samples count, want 67 and 27", e.Train.Samples, e.Valid.Samples)
	}
	var mismatch *ConfigError
	_, err := tr.Evaluate(context.Background(), vectors(t, 5, 3), nil)
	if err == nil || !asConfig(err, &mismatch) {
		t.Errorf("samples of another shape: %v", err)
	}
}

func asConfig(err error, into **ConfigError) bool {
	e, ok := err.(*ConfigError)
	*into = e
	return ok
}
