package nn_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
)

func TestModelErrors(t *testing.T) {
	x, y := nn.Input("x", 3), nn.Input("y", 3)
	dense := func(name string) *nn.Layer { return nn.NewLayer(name, nn.Dense{Units: 2}) }
	for name, c := range map[string]struct {
		in, out []*nn.Node
		want    string
	}{
		"nothing":            {nil, nil, "needs inputs and outputs"},
		"duplicate layers":   {nn.In(x), nn.Out(dense("d").On(x), dense("d").On(x)), `two layers or inputs are named "d"`},
		"layer like input":   {nn.In(x), nn.Out(dense("x").On(x)), `two layers or inputs are named "x"`},
		"input not listed":   {nn.In(x), nn.Out(nn.Add{}.On(x, y)), `uses input "y" but does not list it`},
		"input listed twice": {nn.In(x, x), nn.Out(dense("d").On(x)), `input "x" is listed twice`},
		"input is a layer":   {nn.In(dense("d").On(x)), nn.Out(x), "not made with Input"},
		"nothing applied":    {nn.In(x), nn.Out(dense("d").On(nil)), "applied to nothing"},
		"slash in a name":    {nn.In(x), nn.Out(dense("a/b").On(x)), `"a/b"`},
		"no spec":            {nn.In(x), nn.Out(nn.NewLayer("d", nil).On(x)), "no spec"},
	} {
		_, err := nn.NewModel("m", c.in, c.out)
		var model *nn.ModelError
		if !errors.As(err, &model) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestNoCycle tries to close a loop by changing operands after they were given.
func TestNoCycle(t *testing.T) {
	x := nn.Input("x", 3)
	operands := []*nn.Node{x, x}
	sum := nn.NewLayer("sum", nn.Add{}).On(operands...)
	operands[1] = sum
	m, err := nn.NewModel("m", nn.In(x), nn.Out(sum))
	if err != nil || !strings.Contains(m.String(), "x x") {
		t.Errorf("%v\n%v", m, err)
	}
}

// TestSharedLayer applies one layer twice: it has one weight set, and its gradient is the sum of
// those of two layers with equal weights.
func TestSharedLayer(t *testing.T) {
	a, b := nn.Input("a", 3), nn.Input("b", 3)
	build := func(left, right *nn.Layer) *nn.Model {
		m, err := nn.NewModel("m", nn.In(a, b), nn.Out(nn.Add{}.On(left.On(a), right.On(b))))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	shared := nn.NewLayer("shared", nn.Dense{Units: 2, Act: nn.Tanh})
	one := build(shared, shared)
	two := build(nn.NewLayer("left", nn.Dense{Units: 2, Act: nn.Tanh}), nn.NewLayer("right", nn.Dense{Units: 2, Act: nn.Tanh}))
	if one.NumParams() != 8 || two.NumParams() != 16 {
		t.Fatalf("%d and %d weights", one.NumParams(), two.NumParams())
	}
	kernel := []float32{0.1, -0.2, 0.3, 0.4, -0.5, 0.6}
	both := gradients(t, one, map[string][]float32{"m/shared/kernel": kernel})
	apart := gradients(t, two, map[string][]float32{"m/left/kernel": kernel, "m/right/kernel": kernel})
	for i, g := range both["m/shared/kernel"] {
		want := apart["m/left/kernel"][i] + apart["m/right/kernel"][i]
		if math.Abs(float64(g-want)) > 1e-6 || want == 0 {
			t.Errorf("gradient %d is %v, want %v", i, g, want)
		}
	}
}

// gradients of the sum of squares of the first output, with zeros for weights not given.
func gradients(t *testing.T, m *nn.Model, weights map[string][]float32) map[string][]float32 {
	t.Helper()
	g := graph.New()
	out := m.Graph(g, 2, nn.Train).Outputs[0]
	if err := g.Train(g.Sum(g.Mul(out, out))); err != nil {
		t.Fatal(err)
	}
	p, err := oracle.New().Compile(g, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := p.Layout().NewVectors()
	for name, w := range weights {
		copy(v.Param(name), w)
	}
	r, err := p.NewReplica(v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.NumInputs() {
		for k, x := range []float32{1, -2, 3, 0.5, 0.25, -1} {
			r.Input(m.InputName(i)).F32()[k] = x * float32(i+1)
		}
	}
	if err := r.Run(engine.All, engine.Step{}); err != nil {
		t.Fatal(err)
	}
	found := map[string][]float32{}
	for name := range weights {
		found[name] = v.Grad(name)
	}
	return found
}

func TestModelAsLayer(t *testing.T) {
	in := nn.Input("pixels", 4)
	encoder, err := nn.NewModel("encoder", nn.In(in), nn.Out(nn.Dense{Units: 3}.On(in)))
	if err != nil {
		t.Fatal(err)
	}
	left, right := nn.Input("left", 4), nn.Input("right", 4)
	twin := nn.NewLayer("twin", encoder)
	siamese, err := nn.NewModel("siamese", nn.In(left, right), nn.Out(nn.Add{}.On(twin.On(left), twin.On(right)), nn.Apply(encoder, left)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range siamese.Weights() {
		names = append(names, w.Name)
	}
	want := "[siamese/twin/dense_1/kernel siamese/twin/dense_1/bias siamese/encoder_1/dense_1/kernel siamese/encoder_1/dense_1/bias]"
	if fmt.Sprint(names) != want {
		t.Errorf("weights %v, want %v", names, want)
	}
	_, err = nn.Sequential("m", nn.Input("x", 5), encoder)
	if err == nil || !strings.Contains(err.Error(), `m/encoder_1: layer(f32[2 5]): model "encoder" wants samples of f32[4]`) {
		t.Errorf("a wrong input: %v", err)
	}
}

// TestLayerInTwoModels checks that a model chooses names for itself alone.
func TestLayerInTwoModels(t *testing.T) {
	x := nn.Input("x", 3)
	free := nn.NewLayer("", nn.Dense{Units: 2})
	first := nn.Out(nn.Dense{Units: 1}.On(nn.Dense{Units: 2}.On(free.On(x))))
	if _, err := nn.NewModel("a", nn.In(x), first); err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel("b", nn.In(x), nn.Out(free.On(nn.NewLayer("dense_1", nn.Dense{Units: 3}).On(x))))
	if err != nil || free.Name != "" || m.Weights()[2].Name != "b/dense_2/kernel" {
		t.Errorf("%v, layer %q\n%v", err, free.Name, m)
	}
}

// split has two outputs.
type split struct{ At int }

func (split) Kind() string    { return "split" }
func (split) NumOutputs() int { return 2 }
func (s split) Build(b *nn.Builder, in []*graph.Value) []*graph.Value {
	x := in[0]
	n := x.Shape()[0]
	return []*graph.Value{
		b.Graph.Slice(x, []int{0, 0}, []int{n, s.At}),
		b.Graph.Slice(x, []int{0, s.At}, []int{n, x.Shape().Last()}),
	}
}

func TestSeveralOutputs(t *testing.T) {
	x := nn.Input("x", 5)
	parts := nn.NewLayer("halves", split{2}).All(x)
	m, err := nn.NewModel("m", nn.In(x), nn.Out(parts[1], nn.Dense{Units: 1}.On(parts[0])))
	if err != nil {
		t.Fatal(err)
	}
	if !m.OutputShape(0).Equal([]int{3}) || !m.OutputShape(1).Equal([]int{1}) {
		t.Errorf("outputs %v and %v", m.OutputShape(0), m.OutputShape(1))
	}
	if out := forward(t, m, 1, nn.Eval, ramp); out[0].F32()[0] != -1 {
		t.Errorf("second half is %v", out[0].F32())
	}
}

func TestPrint(t *testing.T) {
	x := nn.Input("image", 4, 4, 1)
	shared := nn.NewLayer("shared", nn.Conv2D{Filters: 2, Kernel: 3, Pad: nn.Same})
	half := nn.NewLayer("halves", split{2})
	flat := nn.Flatten{}.On(nn.BatchNorm{}.On(nn.Add{}.On(shared.On(x), shared.On(x))))
	m, err := nn.NewModel("net", nn.In(x), nn.Out(nn.Dense{Units: 3}.On(half.All(flat)[1])))
	if err != nil {
		t.Fatal(err)
	}
	want := `model net
layer         kind        output      weights  applied to
image         input       [4 4 1]              
shared        conv2d      [4 4 2]     20       image
shared#2      conv2d      [4 4 2]     shared   image
add_1         add         [4 4 2]     0        shared shared#2
batch_norm_1  batch_norm  [4 4 2]     8        add_1
flatten_1     flatten     [32]        0        batch_norm_1
halves        split       [2] [30]    0        flatten_1
dense_1       dense       [3]         93       halves:1
117 weights to train, 4 kept
`
	if got := fmt.Sprint(m); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestZoo(t *testing.T) {
	for _, name := range nn.ZooNames() {
		for _, shape := range [][]int{{28, 28, 1}, {32, 32, 3}} {
			m, err := nn.ByName(name, shape, 7)
			if err != nil || !m.OutputShape(0).Equal([]int{7}) {
				t.Errorf("%s on %v: %v", name, shape, err)
				continue
			}
			g := graph.New()
			b := m.Graph(g, 4, nn.Train)
			labels := g.Input("labels", nn.Loss{}.Target(b.Outputs[0].Spec))
			if err := g.Train(nn.Loss{}.Apply(g, b.Outputs[0], labels)); err != nil {
				t.Fatal(name, err)
			}
			if err := g.Check(); err != nil {
				t.Error(name, err)
			}
			if len(g.Grads) != len(g.Params) {
				t.Errorf("%s: %d of %d params have gradients", name, len(g.Grads), len(g.Params))
			}
		}
	}
	var unknown *nn.UnknownModelError
	if _, err := nn.ByName("vgg", []int{28, 28, 1}, 10); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "cnn, lenet, mlp, resnet20") {
		t.Errorf("an unknown model: %v", err)
	}
	if _, err := nn.ByName("cnn", []int{30}, 10); err == nil || !strings.Contains(err.Error(), "mlp takes any") {
		t.Errorf("a model of images on vectors: %v", err)
	}
	if m, err := nn.ByName("mlp", []int{30}, 10); err != nil || m.NumParams() != 30*256+256+2570 {
		t.Errorf("mlp on vectors: %v", err)
	}
}

func TestVectorsHaveEveryWeight(t *testing.T) {
	m, err := nn.ByName("resnet20", []int{32, 32, 3}, 10)
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range m.Weights() {
		if len(w.Place(v)) != w.Shape.Elems() {
			t.Errorf("%s has no place", w.Name)
		}
	}
	other, _ := nn.ByName("mlp", []int{4}, 2)
	if err := other.Init(v, 1); err == nil {
		t.Error("vectors of another model were filled")
	}
}
