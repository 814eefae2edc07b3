package engine_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
)

// The files in testdata/golden hold what PyTorch computes; the README there tells their format.

// Tolerances, relative to the largest number of an array. PyTorch's own float32 lies up to 3e-7
// (losses), 2e-6 (outputs, gradients) and 5e-5 (final weights) off its float64.
const (
	lossTolerance  = 1e-5
	passTolerance  = 1e-5
	finalTolerance = 2e-4
)

type goldenNet struct {
	model func() (*nn.Model, error)
	loss  nn.Loss
}

func layer(name string, s nn.Spec, in ...*nn.Node) *nn.Node { return nn.NewLayer(name, s).On(in...) }

func goldenMLP() (*nn.Model, error) {
	in := nn.Input("x", 20)
	y := layer("hidden", nn.Dense{Units: 16, Act: nn.ReLU}, in)
	return nn.NewModel("mlp", nn.In(in), nn.Out(layer("logits", nn.Dense{Units: 5}, y)))
}

func goldenLeNet() (*nn.Model, error) {
	in := nn.Input("x", 12, 12, 1)
	conv := func(name string, filters int, x *nn.Node) *nn.Node {
		x = layer(name, nn.Conv2D{Filters: filters, Kernel: 5, Pad: nn.Same, Act: nn.ReLU}, x)
		return nn.MaxPool{Size: 2}.On(x)
	}
	y := nn.Flatten{}.On(conv("conv2", 6, conv("conv1", 4, in)))
	y = layer("hidden", nn.Dense{Units: 16, Act: nn.ReLU}, y)
	return nn.NewModel("lenet", nn.In(in), nn.Out(layer("logits", nn.Dense{Units: 5}, y)))
}

func goldenResidual() (*nn.Model, error) {
	in := nn.Input("x", 18, 18, 3)
	conv := func(name string, c nn.Conv2D, act nn.Act, x *nn.Node) *nn.Node {
		c.Filters, c.NoBias = 8, true
		return layer(name+"_norm", nn.BatchNorm{Act: act}, layer(name, c, x))
	}
	around := func(n int) [4]int { return [4]int{n, n, n, n} }
	y := conv("stem", nn.Conv2D{Kernel: 3, Stride: 2, Pad: nn.Same}, nn.ReLU, in)
	skip := conv("skip", nn.Conv2D{Kernel: 1, Stride: 2}, nn.Linear, y)
	z := conv("a", nn.Conv2D{Kernel: 3, Stride: 2, Groups: 2, Pad: nn.Explicit, Pads: around(1)}, nn.ReLU, y)
	z = conv("b", nn.Conv2D{Kernel: 3, Dilation: 2, Pad: nn.Explicit, Pads: around(2)}, nn.Linear, z)
	y = nn.Add{Act: nn.ReLU}.On(z, skip)
	y = layer("depthwise", nn.DepthwiseConv2D{Kernel: 3, Pad: nn.Explicit, Pads: around(1), Act: nn.ReLU}, y)
	y = nn.GlobalAvgPool{}.On(nn.MaxPool{Size: 3, Stride: 2, Pad: nn.Explicit, Pads: around(1)}.On(y))
	return nn.NewModel("residual", nn.In(in), nn.Out(layer("logits", nn.Dense{Units: 5}, y)))
}

func goldenGELU() (*nn.Model, error) {
	in := nn.Input("x", 12)
	y := layer("embed", nn.Dense{Units: 16}, in)
	for _, block := range []struct {
		name string
		act  nn.Act
	}{{"block1", nn.GELU}, {"block2", nn.GELUTanh}} {
		z := layer(block.name+"_up", nn.Dense{Units: 32, Act: block.act}, layer(block.name+"_norm", nn.LayerNorm{}, y))
		y = nn.Add{}.On(y, layer(block.name+"_down", nn.Dense{Units: 16}, z))
	}
	y = layer("logits", nn.Dense{Units: 5}, layer("norm", nn.LayerNorm{}, y))
	return nn.NewModel("gelu_mlp", nn.In(in), nn.Out(y))
}

func goldenEmbedding() (*nn.Model, error) {
	in := nn.Indices("tokens", 6)
	y := nn.Flatten{}.On(layer("table", nn.Embedding{Rows: 11, Dim: 8}, in))
	y = layer("hidden", nn.Dense{Units: 12, Act: nn.Tanh}, y)
	return nn.NewModel("embedding", nn.In(in), nn.Out(layer("logits", nn.Dense{Units: 11}, y)))
}

func goldenSiamese() (*nn.Model, error) {
	a, b := nn.Input("a", 10), nn.Input("b", 10)
	shared := nn.NewLayer("shared", nn.Dense{Units: 8, Act: nn.ReLU})
	y := nn.Concat{Axis: -1}.On(shared.On(a), shared.On(b))
	return nn.NewModel("siamese", nn.In(a, b), nn.Out(layer("logits", nn.Dense{Units: 5}, y), layer("value", nn.Dense{Units: 3}, y)))
}

func goldenNets() map[string]goldenNet {
	plain, ignored := nn.Loss{Kind: nn.CrossEntropy}, int32(-1)
	return map[string]goldenNet{
		"mlp":          {goldenMLP, plain},
		"mlp_smoothed": {goldenMLP, nn.Loss{Kind: nn.CrossEntropy, Smoothing: 0.1, Ignore: &ignored}},
		"lenet":        {goldenLeNet, plain},
		"residual":     {goldenResidual, plain},
		"gelu_mlp":     {goldenGELU, plain},
		"embedding":    {goldenEmbedding, plain},
		"siamese":      {goldenSiamese, plain},
	}
}

type goldenRule struct {
	optimizer optim.Optimizer
	rate      float64
}

func goldenRules() map[string]goldenRule {
	nesterov, adam := optim.Nesterov(0.9), optim.Adam()
	nesterov.Rule.Decay, adam.Rule.Decay = 1e-3, 1e-3
	return map[string]goldenRule{
		"sgd":      {optim.SGD(0), 0.05},
		"momentum": {optim.SGD(0.9), 0.02},
		"nesterov": {nesterov, 0.02},
		"adam":     {adam, 2e-3},
		"adamw":    {optim.AdamW(0.05), 2e-3},
		"rmsprop":  {optim.RMSProp(0.9), 1e-4},
	}
}

func TestGoldenRuns(t *testing.T) {
	one, err := cpu.New(1)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := cpu.New(2)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	engines := map[string]engine.Engine{"oracle": oracle.New(), "cpu, one thread": one, "cpu, two threads": two}
	for netName, net := range goldenNets() {
		file := openGolden(t, netName)
		for ruleName, rule := range goldenRules() {
			for engineName, e := range engines {
				t.Run(netName+"/"+ruleName+"/"+engineName, func(t *testing.T) {
					r := &goldenRun{T: t, file: file, net: net, rule: rule, ruleName: ruleName, engine: e}
					r.firstStep()
					r.tenSteps()
				})
			}
		}
	}
}

// goldenFile gives the arrays of a file.
type goldenFile map[string]*data.Array

func openGolden(t *testing.T, name string) goldenFile {
	t.Helper()
	path := "testdata/golden/" + name + ".npz"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := data.ReadNPZ(bytes.NewReader(raw), int64(len(raw)), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	arrays := goldenFile{}
	for _, name := range z.Names() {
		if arrays[name], err = z.Array(name); err != nil {
			t.Fatal(err)
		}
	}
	return arrays
}

type goldenRun struct {
	*testing.T
	file     goldenFile
	net      goldenNet
	rule     goldenRule
	ruleName string
	engine   engine.Engine
}

// firstStep compares outputs and gradients, with the update kept apart.
func (r *goldenRun) firstStep() {
	m, replica, v := r.train(engine.Options{SplitUpdate: true})
	r.run(replica, engine.Backward, 0)
	r.equal("outputs", "output/", passTolerance, func(name string) []float32 { return replica.Output(name).F32() })
	if n := r.equal("gradients", "gradient/", passTolerance, v.Grad); n != len(v.Layout.Params) {
		r.Errorf("%s: compared %d gradients of %d", m.Name, n, len(v.Layout.Params))
	}
}

// tenSteps compares losses, final weights and the trained model's outputs.
func (r *goldenRun) tenSteps() {
	m, replica, v := r.train(engine.Options{})
	want := r.file[r.ruleName+"/loss"].Floats()
	for step := range want {
		r.run(replica, engine.All, step)
		got := replica.Output("loss").F32()[0]
		if off := math.Abs(float64(got-want[step])) / float64(want[step]); !(off <= lossTolerance) {
			r.Errorf("loss of step %d is %v, want %v (off by %.1e)", step, got, want[step], off)
		}
	}
	final := func(name string) []float32 {
		if w := v.Param(name); w != nil {
			return w
		}
		return v.State(name)
	}
	weights := len(v.Layout.Params) + len(v.Layout.States)
	if n := r.equal("final weights", r.ruleName+"/final/", finalTolerance, final); n != weights {
		r.Errorf("compared %d final weights of %d", n, weights)
	}

	g := graph.New()
	for i, out := range m.Graph(g, r.batch(), nn.Eval).Outputs {
		g.Output(outputName(i), out)
	}
	eval := r.replica(g, v, engine.Options{Layout: v.Layout})
	r.run(eval, engine.All, 0)
	r.equal("outputs after training", r.ruleName+"/eval/", finalTolerance, func(name string) []float32 { return eval.Output(name).F32() })
}

func (r *goldenRun) batch() int { return len(r.file["labels"].Floats()) }

// outputName is the golden files' name of a model's i-th output.
func outputName(i int) string { return []string{"logits", "value"}[i] }

// train builds a step of the network with the file's first weights.
func (r *goldenRun) train(opt engine.Options) (*nn.Model, engine.Replica, *engine.Vectors) {
	r.Helper()
	m, err := r.net.model()
	if err != nil {
		r.Fatal(err)
	}
	g := graph.New()
	out := m.Graph(g, r.batch(), nn.Train).Outputs
	loss := r.net.loss.Apply(g, out[0], g.Input("labels", r.net.loss.Target(out[0].Spec)))
	if len(out) > 1 {
		squares := nn.Loss{Kind: nn.MSE}
		loss = g.Add(loss, squares.Apply(g, out[1], g.Input("target", squares.Target(out[1].Spec))))
	}
	g.Output("loss", loss)
	for i, o := range out {
		g.Output(outputName(i), o)
	}
	if err := g.Train(loss); err != nil {
		r.Fatal(err)
	}
	if err := r.rule.optimizer.Apply(g); err != nil {
		r.Fatal(err)
	}
	layout, err := engine.NewLayout(g)
	if err != nil {
		r.Fatal(err)
	}
	v := layout.NewVectors()
	for _, p := range layout.Params {
		r.load("initial/"+p.Name, v.Param(p.Name))
	}
	for _, p := range layout.States {
		r.load("initial/"+p.Name, v.State(p.Name))
	}
	opt.Layout = layout
	return m, r.replica(g, v, opt), v
}

func (r *goldenRun) replica(g *graph.Graph, v *engine.Vectors, opt engine.Options) engine.Replica {
	r.Helper()
	if err := g.Err(); err != nil {
		r.Fatal(err)
	}
	p, err := r.engine.Compile(g, opt)
	if err != nil {
		r.Fatal(err)
	}
	replica, err := p.NewReplica(v)
	if err != nil {
		r.Fatal(err)
	}
	return replica
}

func (r *goldenRun) load(name string, dst []float32) {
	r.Helper()
	a := r.file[name]
	if a == nil || a.Len() != len(dst) {
		r.Fatalf("the golden file has no %s of %d numbers", name, len(dst))
	}
	copy(dst, a.Floats())
}

// run fills a replica's inputs and runs a stage of a step.
func (r *goldenRun) run(replica engine.Replica, stage engine.Stage, step int) {
	r.Helper()
	for name, a := range r.file {
		input, isInput := strings.CutPrefix(name, "input/")
		if !isInput && name != "labels" && name != "target" {
			continue
		}
		dst := replica.Input(input)
		switch {
		case dst == nil:
		case a.Type == data.I32:
			for i, x := range a.Floats() {
				dst.I32()[i] = int32(x)
			}
		default:
			copy(dst.F32(), a.Floats())
		}
	}
	if hyper := replica.Input(optim.HyperInput); hyper != nil {
		optim.Hyper(hyper.F32(), step, r.rule.rate)
	}
	if err := replica.Run(stage, engine.Step{Index: uint64(step)}); err != nil {
		r.Fatal(err)
	}
}

// equal compares every array of the file under a prefix and returns their number.
func (r *goldenRun) equal(what, prefix string, tolerance float64, got func(name string) []float32) int {
	r.Helper()
	n := 0
	for key, a := range r.file {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		n++
		if err := near(got(name), a.Floats(), tolerance); err != nil {
			r.Errorf("%s: %s: %v", what, name, err)
		}
	}
	return n
}

// near reports the worst difference when it exceeds tolerance times the largest wanted number.
func near(got, want []float32, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers, want %d", len(got), len(want))
	}
	largest, worst, at := 0.0, 0.0, 0
	for i, w := range want {
		largest = max(largest, math.Abs(float64(w)))
		off := math.Abs(float64(got[i]) - float64(w))
		if math.IsNaN(off) {
			return fmt.Errorf("number %d is %v, want %v", i, got[i], w)
		}
		if off > worst {
			worst, at = off, i
		}
	}
	if worst > tolerance*largest+1e-9 {
		return fmt.Errorf("number %d is %v, want %v (off by %.1e of the largest)", at, got[at], want[at], worst/largest)
	}
	return nil
}
