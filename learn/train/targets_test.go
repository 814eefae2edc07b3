package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/tensor"
)

// ends is a model with two inputs, numbers and words, which go through one encoder, itself a
// model, and two outputs: two numbers and one of three classes.
func ends(t testing.TB) *nn.Model {
	t.Helper()
	encoder, err := nn.Sequential("encoder", nn.Input("x", 4), nn.Dense{Units: 12, Act: nn.Tanh})
	if err != nil {
		t.Fatal(err)
	}
	numbers, words := nn.Input("numbers", 4), nn.Indices("words", 2)
	shared := nn.NewLayer("shared", encoder)
	a := shared.On(numbers)
	b := shared.On(nn.Dense{Units: 4}.On(nn.Flatten{}.On(nn.Embedding{Rows: 5, Dim: 3}.On(words))))
	joint := nn.Concat{}.On(a, b)
	m, err := nn.NewModel("ends", nn.In(numbers, words), nn.Out(nn.Dense{Units: 2}.On(joint), nn.Dense{Units: 3}.On(joint)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pairs makes n samples for it: the numbers are sums, the class is that of the words' sum.
func pairs(t testing.TB, n int, seed uint64) data.Dataset {
	t.Helper()
	var values, targets []float32
	for i := range n {
		r := data.NewRand(seed, 0, uint64(i), 1)
		x := make([]float32, 4)
		for k := range x {
			x[k] = r.Between(1)
		}
		p, q := r.IntN(5), r.IntN(5)
		values = append(append(values, x...), float32(p), float32(q))
		targets = append(targets, x[0]+x[1], x[2]-x[3], float32((p+q)/3))
	}
	ds, err := data.NewNumbers("pairs", values, []int{6}, targets, 3)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// twoLosses is a run of 4 epochs of 7 steps with two losses, one of which counts half.
func twoLosses(t testing.TB) Config {
	cfg := config(t)
	cfg.Model, cfg.Augment = ends(t), nil
	cfg.Losses = []nn.Loss{{Kind: nn.Huber, Delta: 1, Weight: 0.5}, {Smoothing: 0.01}}
	cfg.Train, cfg.Valid = pairs(t, 100, 1), pairs(t, 40, 2)
	return cfg
}

func TestSeveralInputsAndOutputs(t *testing.T) {
	cfg := twoLosses(t)
	cfg.Epochs, cfg.Schedule, cfg.Plateau = 60, optim.OneCycle(0.02, 420), nil
	tr := mustTrain(t, cfg)
	first, last := tr.State().Epochs[0], tr.State().Epochs[59]
	if first.Train.Samples != 100 || first.Valid.Samples != 40 || last.Valid.Loss() > 0.3*first.Valid.Loss() {
		t.Errorf("from %+v to %+v", first, last)
	}
	worst, right, n := 0.0, 0, 0
	m, err := tr.Evaluate(context.Background(), pairs(t, 50, 1), func(b *data.Batch, outputs [][]float32) {
		for i := range b.Indices {
			for k := range 2 {
				worst = max(worst, math.Abs(float64(outputs[0][2*i+k]-b.Targets[3*i+k])))
			}
			if Rank(outputs[1][3*i:3*i+3], int(b.Targets[3*i+2])) == 0 {
				right++
			}
			n++
		}
	})
	t.Logf("%d of %d classes right, numbers off by %v, loss %v → %v", right, n, worst, first.Valid.Loss(), last.Valid.Loss())
	if err != nil || m.Samples != 50 || m.Confusion != nil || n != 50 || worst > 0.5 || right < 45 {
		t.Errorf("%+v: %d of %d classes right, numbers off by %v, %v", m, right, n, worst, err)
	}
}

// TestTargetsAgainstOracle trains some steps on the float64 engine and on this one.
func TestTargetsAgainstOracle(t *testing.T) {
	cfg := twoLosses(t)
	cfg.Epochs, cfg.Steps = 0, 9
	fast := mustTrain(t, cfg)
	cfg.Engine = oracle.New()
	exact := mustTrain(t, cfg)
	if !close32(fast.Vectors().Params, exact.Vectors().Params, 2e-3) {
		t.Error("the params differ")
	}
	a, b := exact.State().Epochs[0], fast.State().Epochs[0]
	if math.Abs(a.Train.Loss()-b.Train.Loss()) > 1e-4 || math.Abs(a.Valid.Loss()-b.Valid.Loss()) > 1e-4 {
		t.Errorf("%+v and %+v", a, b)
	}
}

// TestTargetsResume interrupts a run with targets, and has it trained by a group.
func TestTargetsResume(t *testing.T) {
	cfg := twoLosses(t)
	cfg.Every = 3
	want := mustTrain(t, cfg)
	dir := t.TempDir()
	if _, err := part(t, cfg, dir, false, 11); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	got, err := part(t, cfg, dir, true, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sameVectors(t, "resumed", got.Vectors(), want.Vectors())
	others := cfg
	others.Losses = []nn.Loss{{Kind: nn.MSE}, {}}
	others.Dir, others.Journal = dir, nil
	if _, err := Resume(others); err == nil || !strings.Contains(err.Error(), "it was trained with") {
		t.Errorf("with other losses: %v", err)
	}
	others = cfg
	others.Train, others.Dir = pairs(t, 100, 3), dir
	if _, err := Resume(others); err == nil || !strings.Contains(err.Error(), "other data") {
		t.Errorf("with other targets: %v", err)
	}
	m := newMeeting(100, 16)
	for _, tr := range trainTogether(t, func() Config { return twoLosses(t) }, m.seat(false), m.seat(false)) {
		if !close32(tr.Vectors().Params, want.Vectors().Params, 1e-3) {
			t.Error("two workers end elsewhere")
		}
	}
}

// TestRegression finds the plane y = 3a − 2b + 1 with a journal that has no accuracy in it.
func TestRegression(t *testing.T) {
	var values, targets []float32
	for i := range 64 {
		r := data.NewRand(1, 0, uint64(i), 1)
		a, b := r.Between(1), r.Between(1)
		values, targets = append(values, a, b), append(targets, 3*a-2*b+1)
	}
	set, err := data.NewNumbers("plane", values, []int{2}, targets, 1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.Sequential("plane", nn.Input("x", 2), nn.Dense{Units: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []nn.LossKind{nn.MSE, nn.Huber} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		journal, err := control.OpenJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		tr := mustTrain(t, Config{
			Model: m, Loss: nn.Loss{Kind: kind, Delta: 1}, Optimizer: optim.SGD(0.9), Schedule: optim.Cosine(0.1, 0, 400),
			Train: set, Valid: set, Batch: 16, Epochs: 100, Seed: 1, Engine: newEngine(t, 2), Journal: journal,
		})
		v := tr.Vectors()
		if got := append(v.Param("plane/dense_1/kernel"), v.Param("plane/dense_1/bias")...); !close32(got, []float32{3, -2, 1}, 1e-2) {
			t.Errorf("%s: weights %v", kind, got)
		}
		if e := tr.State().Epochs[99]; e.Valid.Loss() > 1e-3 || e.Valid.Samples != 64 {
			t.Errorf("%s: %+v", kind, e)
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
		signals := map[string]int{}
		if _, err := control.ReadJournal(path, func(r control.Record) error { signals[r.Signal.Name]++; return nil }); err != nil {
			t.Fatal(err)
		}
		if signals[SignalValidLoss] != 100 || signals[SignalTrainAccuracy]+signals[SignalValidAccuracy] > 0 {
			t.Errorf("%s: signals %v", kind, signals)
		}
	}
}

// TestLabelsOfPlaces learns a class for each place of a sequence; some places do not count.
func TestLabelsOfPlaces(t *testing.T) {
	const n, places, ignored = 60, 4, 9
	var values, targets []float32
	for i := range n {
		for k := range places {
			word := (i*7 + k*3) % 5
			values = append(values, float32(word))
			if k == i%places {
				targets = append(targets, ignored)
			} else {
				targets = append(targets, float32(word%3))
			}
		}
	}
	set, err := data.NewNumbers("places", values, []int{places}, targets, places)
	if err != nil {
		t.Fatal(err)
	}
	words := nn.Indices("words", places)
	m, err := nn.Sequential("places", words, nn.Embedding{Rows: 5, Dim: 6}, nn.Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	ignore := int32(ignored)
	cfg := Config{
		Model: m, Loss: nn.Loss{Ignore: &ignore}, Optimizer: optim.Adam(), Schedule: optim.Constant(0.05),
		Train: set, Valid: set, Batch: 16, Epochs: 15, Seed: 1, Engine: newEngine(t, 2),
	}
	tr := mustTrain(t, cfg)
	if e := tr.State().Epochs[14]; e.Valid.Samples != n*(places-1) || e.Valid.Accuracy() < 0.99 {
		t.Errorf("%+v", e)
	}
	cfg.Loss = nn.Loss{}
	outside, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := outside.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "label 9 ") {
		t.Errorf("a label out of range: %v", err)
	}
}

// TestSeveralLabelsAtOnce has targets that are each yes or no.
func TestSeveralLabelsAtOnce(t *testing.T) {
	var values, targets []float32
	for i := range 64 {
		r := data.NewRand(1, 0, uint64(i), 1)
		a, b := r.Between(1), r.Between(1)
		values = append(values, a, b)
		for _, yes := range []bool{a > 0, b > 0, a > b} {
			targets = append(targets, map[bool]float32{true: 1}[yes])
		}
	}
	set, err := data.NewNumbers("signs", values, []int{2}, targets, 3)
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.Sequential("signs", nn.Input("x", 2), nn.Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	tr := mustTrain(t, Config{
		Model: m, Loss: nn.Loss{Kind: nn.BCE}, Optimizer: optim.Adam(), Schedule: optim.Constant(0.1),
		Train: set, Batch: 16, Epochs: 60, Seed: 1, Engine: newEngine(t, 1),
	})
	right := 0
	if _, err := tr.Evaluate(context.Background(), set, func(b *data.Batch, outputs [][]float32) {
		for i, logit := range outputs[0] {
			if logit > 0 == (b.Targets[i] == 1) {
				right++
			}
		}
	}); err != nil || right < 180 {
		t.Errorf("%d of 192 right, %v", right, err)
	}
}

func TestTargetErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"has 2 outputs, for which 1 losses are given":                    func(c *Config) { c.Losses = c.Losses[:1] },
		"both a loss and losses":                                         func(c *Config) { c.Loss.Kind = nn.MSE },
		"has 3 targets, the outputs of model ends need 5":                func(c *Config) { c.Losses[1].Kind = nn.MSE },
		"2 inputs of model ends want samples of shape [6], the data set": func(c *Config) { c.Train = vectors(t, 5, 3) },
		"model ends has 2 outputs, which need targets":                   func(c *Config) { c.Train = vectors(t, 6, 3) },
	} {
		cfg := twoLosses(t)
		change(&cfg)
		_, err := New(cfg)
		var bad *ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	cfg := twoLosses(t)
	set, err := data.NewNumbers("halves", make([]float32, 6), []int{6}, []float32{0, 0, 0.5}, 3)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Train = set
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var bad *ConfigError
	if err := tr.Run(context.Background()); !errors.As(err, &bad) || !strings.Contains(err.Error(), "targets: sample 0 of the batch, number 2: 0.5 is no whole number") {
		t.Errorf("half a class: %v", err)
	}
	if _, err := StepGraph(ends(t), 2, []nn.Loss{{}}, optim.SGD(0)); err == nil {
		t.Error("a step graph with too few losses")
	}
	if err := Fits(ends(t), vectors(t, 6, 3)); err == nil {
		t.Error("classes fit a model with two outputs")
	}
}

// TestStepWithTargetsAllocatesNothing measures steps in steady state, batches included.
func TestStepWithTargetsAllocatesNothing(t *testing.T) {
	tr, err := New(twoLosses(t))
	if err != nil {
		t.Fatal(err)
	}
	loader, err := data.NewLoader(tr.cfg.Train, data.LoaderOptions{Plan: data.Plan{Batch: 16, Shuffle: true, Seed: 1}, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	tr.windowStart = time.Now().Add(time.Hour) // no report in between
	step := func() {
		b, err := loader.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.step(b); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// cube is a layer around an operation that this test registers.
type cube struct{}

func (cube) Kind() string { return "train_test_cube" }

func (cube) Build(b *nn.Builder, in []*graph.Value) []*graph.Value {
	return b.Graph.Apply("train_test_cube", nil, in...)
}

// registerCube makes the operation known, once in a process.
var registerCube = sync.OnceValue(func() error {
	return graph.Register(graph.OpDef{
		Name:  "train_test_cube",
		Infer: func(in []graph.Spec, _ any) ([]graph.Spec, error) { return in, nil },
		VJP: func(g *graph.Graph, n *graph.Node, dy []*graph.Value) []*graph.Value {
			return []*graph.Value{g.Mul(dy[0], g.Mul(g.Scalar(3), g.Unary(graph.Square, n.In[0])))}
		},
		Forward: func(_ any, in, out []*tensor.Tensor) error {
			for i, x := range in[0].F32() {
				out[0].F32()[i] = x * x * x
			}
			return nil
		},
	})
})

// TestOperationOfOnesOwn trains through an operation from outside, on both engines.
func TestOperationOfOnesOwn(t *testing.T) {
	err := registerCube()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t)
	if cfg.Model, err = nn.Sequential("cubes", nn.Input("image", 6, 6, 1), nn.Flatten{}, nn.Dense{Units: 8}, cube{}, nn.Dense{Units: 3}); err != nil {
		t.Fatal(err)
	}
	cfg.Epochs, cfg.Steps = 0, 9
	fast := mustTrain(t, cfg)
	cfg.Engine = oracle.New()
	if exact := mustTrain(t, cfg); !close32(fast.Vectors().Params, exact.Vectors().Params, 2e-3) {
		t.Error("the params differ")
	}
	if fast.State().Epochs[0].Train.Loss() == 0 {
		t.Error("nothing was trained")
	}
}
