package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace.dev/control"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTrains(t *testing.T) {
	seen := &recorder{}
	cfg := config(t)
	cfg.Observer, cfg.Epochs, cfg.Schedule = seen, 12, optim.OneCycle(0.02, 84)
	tr := mustTrain(t, cfg)
	if len(seen.epochs) != 12 || seen.epochs[11].Step != 84 || seen.epochs[11].Train.Samples != 100 || seen.epochs[11].Valid.Samples != 40 {
		t.Fatalf("epochs %+v", seen.epochs)
	}
	m, err := tr.Evaluate(context.Background(), blobs(t, 90, 3), nil)
	if err != nil || m.Accuracy() < 0.9 || m.Loss() > 0.5 {
		t.Errorf("accuracy %v, loss %v, %v", m.Accuracy(), m.Loss(), err)
	}
}

// TestAgainstOracle trains a few steps on the float64 engine and on this one.
func TestAgainstOracle(t *testing.T) {
	cfg := config(t)
	cfg.Epochs, cfg.Steps = 0, 9
	fast := mustTrain(t, cfg)
	cfg.Engine = oracle.New()
	exact := mustTrain(t, cfg)
	for i, x := range exact.Vectors().Params {
		if d := math.Abs(float64(x - fast.Vectors().Params[i])); d > 2e-3 {
			t.Fatalf("param %d: %v and %v", i, x, fast.Vectors().Params[i])
		}
	}
	a, b := exact.State().Epochs[0].Train.Loss(), fast.State().Epochs[0].Train.Loss()
	if math.Abs(a-b) > 1e-4*a {
		t.Errorf("losses %v and %v", a, b)
	}
}

// TestBitsDoNotDependOnThreads trains with other numbers of threads and processors.
func TestBitsDoNotDependOnThreads(t *testing.T) {
	cfg := config(t)
	want := mustTrain(t, cfg).Vectors()
	for _, n := range []int{1, 3} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		cfg.Engine = newEngine(t, n)
		sameVectors(t, fmt.Sprint(n, " threads"), mustTrain(t, cfg).Vectors(), want)
	}
	cfg.Seed++
	other := mustTrain(t, cfg).Vectors()
	if other.Params[0] == want.Params[0] {
		t.Error("another seed gives the same weights")
	}
}

// TestStepAllocatesNothing measures steps in steady state, batches included.
func TestStepAllocatesNothing(t *testing.T) {
	cfg := config(t)
	cfg.Observer = nil
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	loader, err := data.NewLoader(cfg.Train, data.LoaderOptions{
		Plan: data.Plan{Batch: 16, Shuffle: true, Seed: 1}, Augment: cfg.Augment, Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	tr.windowStart = time.Now().Add(time.Hour) // no report in between
	ctx := context.Background()
	step := func() {
		b, err := loader.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.step(b); err != nil {
			t.Fatal(err)
		}
		tr.state.Cursor.Position = 1 // the epochs are not concluded here
		tr.afterStep()
	}
	for range 20 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 1000 {
		step()
	}
	if runtime.ReadMemStats(&after); after.NumGC != before.NumGC {
		t.Errorf("%d collections in 1000 steps", after.NumGC-before.NumGC)
	}
}

// plain is a model without chance or states.
func plain(t *testing.T) *nn.Model {
	t.Helper()
	m, err := nn.Sequential("plain", nn.Input("image", 6, 6, 1), nn.Flatten{}, nn.Dense{Units: 8, Act: nn.ReLU}, nn.Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDivergenceNamesTheLayer(t *testing.T) {
	cfg := config(t)
	cfg.Model, cfg.Optimizer, cfg.Schedule = plain(t), optim.SGD(0), optim.Constant(1e25)
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = tr.Run(context.Background())
	var diverged *DivergedError
	var where *engine.RunError
	if !errors.As(err, &diverged) || !errors.As(err, &where) || !strings.HasPrefix(where.Path, "plain/") ||
		!strings.Contains(err.Error(), "lower learning rate") || diverged.Step != tr.State().Step+1 {
		t.Errorf("got %v", err)
	}
}

// TestDivergenceInValidation lets one step spoil the weights: measuring them names the layer.
func TestDivergenceInValidation(t *testing.T) {
	cfg := config(t)
	cfg.Model, cfg.Optimizer, cfg.Schedule, cfg.Steps = plain(t), optim.SGD(0), optim.Constant(1e30), 1
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"validation after epoch 1: plain/": tr.Run(context.Background()),
		"step 1: plain/":                   func() error { _, err := tr.Evaluate(context.Background(), blobs(t, 9, 1), nil); return err }(),
	} {
		var diverged *DivergedError
		if !errors.As(err, &diverged) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "lower learning rate") {
			t.Errorf("got %v, want %q", err, what)
		}
	}
}

// TestLastWeightsAreFinite spoils the weights where nothing measures them any more.
func TestLastWeightsAreFinite(t *testing.T) {
	cfg := config(t)
	cfg.Model, cfg.Optimizer, cfg.Schedule, cfg.Valid = plain(t), optim.SGD(0), optim.Constant(math.Inf(1)), nil
	cfg.Plateau, cfg.Steps, cfg.Dir = nil, 1, t.TempDir()
	seen := &recorder{}
	cfg.Observer = seen
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = tr.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "step 1: plain/dense_") || !strings.Contains(err.Error(), "weight ") {
		t.Errorf("got %v", err)
	}
	if left, _ := checkpoints(cfg.Dir); len(left) > 0 || len(seen.failed) != 1 {
		t.Errorf("checkpoints %v of weights that are no numbers, told %v", left, seen.failed)
	}
}

// TestLossHasAPath lets the loss alone overflow: its own path stands in the error.
func TestLossHasAPath(t *testing.T) {
	g, err := EvalGraph(plain(t), 1, []nn.Loss{{}})
	if err != nil {
		t.Fatal(err)
	}
	opt := optim.SGD(0)
	opt.Clip = 1
	step, err := StepGraph(plain(t), 1, []nn.Loss{{}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range append(g.Nodes, step.Nodes...) {
		if (n.Op == "softmax_xent" || n.Op == "clip_scale") && n.Path != "loss" && n.Path != "clip" {
			t.Errorf("%s has the path %q", n.Op, n.Path)
		}
	}
}

func TestMemory(t *testing.T) {
	cfg := config(t)
	plain, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Stop = &control.EarlyStop{Setting: SettingTraining, Signal: SignalValidLoss, Patience: 3}
	stopping, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m, v := plain.Memory(), plain.Vectors()
	if m.Vectors != 4*(4*len(v.Params)+len(v.States)) || m.Step.Arena < m.Step.LowerBound || m.Step.LowerBound < 16*36*4 ||
		m.Programs < 2*m.Step.Arena || m.Total() != m.Vectors+m.Programs {
		t.Errorf("%+v", m)
	}
	if more := stopping.Memory().Vectors - m.Vectors; more != 4*(len(v.Params)+len(v.States)) {
		t.Errorf("the best weights take %d bytes", more)
	}
}

func TestPoliciesDecide(t *testing.T) {
	cfg := config(t)
	cfg.Model, cfg.Epochs, cfg.Schedule = plain(t), 50, optim.Constant(1e-9)
	cfg.Stop = &control.EarlyStop{Setting: SettingTraining, Signal: SignalValidLoss, Delta: 0.01, Patience: 4}
	journal, err := control.OpenJournal(t.TempDir() + "/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Journal = journal
	tr := mustTrain(t, cfg)
	if n := len(tr.State().Epochs); n != 5 {
		t.Errorf("stopped after %d epochs, want 5: the first and 4 that are no better", n)
	}
	if lr := tr.State().Epochs[4].LR; lr > 0.6e-9 {
		t.Errorf("the learning rate is still %v", lr)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestThreadsAreChosen(t *testing.T) {
	cfg := config(t)
	cfg.Choices, cfg.Threads = []int{1, 2}, cfg.Engine.(ThreadSetter)
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// Half a second of training per signal is too long here: the signals are given directly.
	for i, rate := range []float64{100, 100, 100, 100, 100, 100, 200, 200, 200, 200, 200, 200, 200} {
		tr.state.Step = i + 1
		tr.observe(time.Now(), SignalThroughput, "samples/s", rate)
		tr.decide(time.Now())
	}
	if got := tr.loop.Setting(SettingThreads); got != control.Number(1) {
		t.Errorf("with one thread twice as fast as with two the choice is %v", got)
	}
	if n := cfg.Engine.(interface{ Threads() int }).Threads(); n != 1 {
		t.Errorf("the engine uses %d threads", n)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"batch size must be at least 1": func(c *Config) { c.Batch = 0 },
		"epochs or steps":               func(c *Config) { c.Epochs = 0 },
		"wants samples of shape [6 6 1], the data set has [5]": func(c *Config) {
			c.Train = vectors(t, 5, 3)
		},
		"gives [3] for a sample, the data set has 2 classes": func(c *Config) {
			c.Valid = vectors(t, 36, 2)
			c.Train = c.Valid
			c.Model, _ = nn.Sequential("net", nn.Input("x", 36), nn.Dense{Units: 3})
		},
		`the loss "mse" needs targets of numbers`: func(c *Config) { c.Loss.Kind = nn.MSE },
		"2 inputs of model two want samples of shape [72], the data set has [6 6 1]": func(c *Config) {
			a, b := nn.Input("a", 6, 6, 1), nn.Input("b", 6, 6, 1)
			c.Model, _ = nn.NewModel("two", nn.In(a, b), nn.Out(nn.Add{}.On(a, b)))
		},
		"batch of 1: net/batch_norm_1": func(c *Config) {
			c.Model, _ = nn.Sequential("net", nn.Input("x", 36), nn.BatchNorm{}, nn.Dense{Units: 2})
			c.Train, c.Valid, c.Batch, c.Augment = vectors(t, 36, 2), nil, 11, nil // 12 samples: one is left over
		},
	} {
		cfg := config(t)
		change(&cfg)
		_, err := New(cfg)
		var bad interface{ BadInput() bool }
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &bad) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("an empty configuration")
	}
}

// vectors makes 12 samples of features.
func vectors(t testing.TB, features, classes int) data.Dataset {
	t.Helper()
	labels := make([]int32, 12)
	for i := range labels {
		labels[i] = int32(i % classes)
	}
	ds, err := data.NewFloats("vectors", make([]float32, 12*features), []int{features}, labels, make([]string, classes))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// TestDecay checks that weight decay pulls at weights and leaves biases and norms alone, unless
// the optimizer says otherwise.
func TestDecay(t *testing.T) {
	for name, c := range map[string]struct {
		decay func(string) float64
		all   bool
	}{"by default": {nil, false}, "everywhere": {func(string) float64 { return 0.25 }, true}} {
		opt := optim.SGD(0)
		opt.Rule.Decay, opt.Decay = 0.5, c.decay
		g, err := StepGraph(net(t), 4, []nn.Loss{{}}, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Nodes {
			if n.Op != "update" {
				continue
			}
			param := n.In[2].Name
			want := c.all || strings.HasSuffix(param, "/kernel")
			if got := n.Attr.(graph.UpdateAttr).Decay != 0; got != want {
				t.Errorf("%s: %s decays: %v", name, param, got)
			}
		}
	}
}

// heap notes the live heap at the ends of some epochs.
type heap struct {
	recorder
	live map[int]uint64
}

func (h *heap) Epoch(e Epoch) {
	if _, wanted := h.live[e.Number]; wanted {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		h.live[e.Number] = m.HeapAlloc
	}
}

// TestMemoryIsFlat trains for many epochs, with validation and decisions.
func TestMemoryIsFlat(t *testing.T) {
	first, last := 100, 1000
	if testing.Short() {
		first, last = 20, 200
	}
	seen := &heap{live: map[int]uint64{first: 0, last: 0}}
	cfg := config(t)
	cfg.Model, cfg.Epochs, cfg.Observer, cfg.Schedule = plain(t), last, seen, optim.Constant(1e-4)
	mustTrain(t, cfg)
	// What is remembered of an epoch (its metrics, its signals) takes about a kilobyte.
	if a, b := seen.live[first], seen.live[last]; b > a+uint64(last-first)*2000+100_000 {
		t.Errorf("%d bytes live after epoch %d, %d after epoch %d", a, first, b, last)
	}
}

// TestMemoryIsFlatOverSteps takes a hundred thousand steps of a tiny model in long epochs.
func TestMemoryIsFlatOverSteps(t *testing.T) {
	perEpoch, first, last := 2500, 4, 40
	if testing.Short() {
		first, last = 1, 4
	}
	const batch = 2
	labels := make([]int32, batch*perEpoch)
	values := make([]float32, 3*len(labels))
	for i := range labels {
		labels[i] = int32(i % 2)
		values[3*i+i%2] = 1
	}
	set, err := data.NewFloats("tiny", values, []int{3}, labels, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.Sequential("tiny", nn.Input("x", 3), nn.Dense{Units: 4, Act: nn.ReLU}, nn.Dense{Units: 2})
	if err != nil {
		t.Fatal(err)
	}
	seen := &heap{live: map[int]uint64{first: 0, last: 0}}
	tr := mustTrain(t, Config{
		Model: m, Optimizer: optim.Adam(), Schedule: optim.Constant(1e-3), Train: set, Batch: batch,
		Epochs: last, Engine: newEngine(t, 1), Observer: seen,
	})
	if tr.State().Step != last*perEpoch {
		t.Fatalf("%d steps", tr.State().Step)
	}
	if a, b := seen.live[first], seen.live[last]; b > a+100_000 {
		t.Errorf("%d bytes live after epoch %d, %d after epoch %d", a, first, b, last)
	}
}
