package nn_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/tensor"
)

func TestShapesAndWeights(t *testing.T) {
	image := func() *nn.Node { return nn.Input("x", 9, 8, 6) }
	for name, c := range map[string]struct {
		in      *nn.Node
		spec    nn.Spec
		want    []int
		params  int
		states  int
		decayed int // params that weight decay applies to
	}{
		"dense":           {nn.Input("x", 5), nn.Dense{Units: 3}, []int{3}, 18, 0, 15},
		"dense, no bias":  {nn.Input("x", 4, 5), nn.Dense{Units: 3, NoBias: true}, []int{4, 3}, 15, 0, 15},
		"conv valid":      {image(), nn.Conv2D{Filters: 4, Kernel: 3}, []int{7, 6, 4}, 220, 0, 216},
		"conv same":       {image(), nn.Conv2D{Filters: 4, Kernel: 3, Stride: 2, Pad: nn.Same}, []int{5, 4, 4}, 220, 0, 216},
		"conv explicit":   {image(), nn.Conv2D{Filters: 4, Kernel: 3, Pad: nn.Explicit, Pads: [4]int{1, 0, 2, 3}}, []int{8, 11, 4}, 220, 0, 216},
		"conv dilated":    {image(), nn.Conv2D{Filters: 4, Kernel: 3, Dilation: 2, NoBias: true}, []int{5, 4, 4}, 216, 0, 216},
		"conv grouped":    {image(), nn.Conv2D{Filters: 4, Kernel: 1, Kernel2: 3, Groups: 2}, []int{9, 6, 4}, 40, 0, 36},
		"depthwise":       {image(), nn.DepthwiseConv2D{Kernel: 3, Multiplier: 2, Pad: nn.Same}, []int{9, 8, 12}, 120, 0, 108},
		"max pool":        {image(), nn.MaxPool{Size: 2}, []int{4, 4, 6}, 0, 0, 0},
		"max pool same":   {image(), nn.MaxPool{Size: 2, Pad: nn.Same}, []int{5, 4, 6}, 0, 0, 0},
		"avg pool":        {image(), nn.AvgPool{Size: 3, Stride: 1}, []int{7, 6, 6}, 0, 0, 0},
		"max pool 3×1":    {image(), nn.MaxPool{Size: 3, Size2: 1}, []int{3, 8, 6}, 0, 0, 0},
		"avg pool 1×4":    {image(), nn.AvgPool{Size: 1, Size2: 4}, []int{9, 2, 6}, 0, 0, 0},
		"avg pool stride": {image(), nn.AvgPool{Size: 1, Size2: 4, Stride: 2}, []int{5, 3, 6}, 0, 0, 0},
		"global avg pool": {image(), nn.GlobalAvgPool{}, []int{6}, 0, 0, 0},
		"global max pool": {image(), nn.GlobalMaxPool{}, []int{6}, 0, 0, 0},
		"batch norm":      {image(), nn.BatchNorm{}, []int{9, 8, 6}, 12, 12, 0},
		"layer norm":      {nn.Input("x", 5), nn.LayerNorm{}, []int{5}, 10, 0, 0},
		"dropout":         {nn.Input("x", 5), nn.Dropout{Rate: 0.5}, []int{5}, 0, 0, 0},
		"flatten":         {image(), nn.Flatten{}, []int{432}, 0, 0, 0},
		"reshape":         {nn.Input("x", 6), nn.Reshape{Shape: []int{3, 2}}, []int{3, 2}, 0, 0, 0},
		"activation":      {nn.Input("x", 6), nn.Activation{Act: nn.SiLU}, []int{6}, 0, 0, 0},
		"softmax":         {nn.Input("x", 6), nn.Softmax{}, []int{6}, 0, 0, 0},
		"embedding":       {nn.Indices("x", 7), nn.Embedding{Rows: 10, Dim: 3}, []int{7, 3}, 30, 0, 30},
	} {
		t.Run(name, func(t *testing.T) {
			m := sequence(t, c.in, c.spec)
			if got := m.OutputShape(0); !got.Equal(c.want) || m.NumParams() != c.params || m.NumStates() != c.states {
				t.Errorf("output %v, %d params, %d states; want %v, %d, %d", got, m.NumParams(), m.NumStates(), c.want, c.params, c.states)
			}
			decayed := 0
			for _, w := range m.Weights() {
				if m.Decays(w.Name) {
					decayed += w.Shape.Elems()
				}
				if !strings.HasPrefix(w.Name, "m/"+c.spec.Kind()+"_1/") {
					t.Errorf("weight %q is not under its layer's path", w.Name)
				}
			}
			if decayed != c.decayed {
				t.Errorf("weight decay applies to %d weights, want %d", decayed, c.decayed)
			}
		})
	}
}

// TestMisuse checks that wrong use is an error with the layer's path and the shapes.
func TestMisuse(t *testing.T) {
	image := func() *nn.Node { return nn.Input("x", 9, 8, 6) }
	for name, c := range map[string]struct {
		in   *nn.Node
		spec nn.Spec
		want []string
	}{
		"dense of nothing":      {nn.Input("x", 5), nn.Dense{}, []string{"m/dense_1", "units", "[2 5]"}},
		"dense of a scalar":     {nn.Input("x"), nn.Dense{Units: 1}, []string{"m/dense_1", "[2]"}},
		"conv of a vector":      {nn.Input("x", 5), nn.Conv2D{Filters: 1, Kernel: 1}, []string{"m/conv2d_1", "[2 5]"}},
		"conv of no filters":    {image(), nn.Conv2D{Kernel: 1}, []string{"m/conv2d_1", "filters"}},
		"kernel too large":      {image(), nn.Conv2D{Filters: 1, Kernel: 20}, []string{"m/conv2d_1", "[2 9 8 6]", "[20 20 6 1]"}},
		"kernel beyond bounds":  {image(), nn.Conv2D{Filters: 1, Kernel: 1 << 40}, []string{"m/conv2d_1", "window"}},
		"pool without columns":  {image(), nn.MaxPool{Size: 2, Size2: -1}, []string{"m/max_pool_1", "window 2×-1"}},
		"negative pads":         {image(), nn.MaxPool{Size: 2, Pad: nn.Explicit, Pads: [4]int{-1}}, []string{"m/max_pool_1", "pads"}},
		"unknown padding":       {image(), nn.Conv2D{Filters: 1, Kernel: 1, Pad: "most"}, []string{"m/conv2d_1", `"most"`}},
		"groups do not divide":  {image(), nn.Conv2D{Filters: 4, Kernel: 1, Groups: 4}, []string{"m/conv2d_1", "4 groups", "6 channels"}},
		"unknown activation":    {nn.Input("x", 5), nn.Dense{Units: 2, Act: "sgn"}, []string{"m/dense_1", "sgn"}},
		"dropout of everything": {nn.Input("x", 5), nn.Dropout{Rate: 1}, []string{"m/dropout_1", "rate"}},
		"reshape to another":    {nn.Input("x", 6), nn.Reshape{Shape: []int{4}}, []string{"m/reshape_1", "[2 6]", "[2 4]"}},
		"product overflows":     {nn.Input("x", 6), nn.Dense{Units: math.MaxInt / 2}, []string{"m/dense_1/kernel: param(f32[6 ", "elements"}},
		"embedding of floats":   {nn.Input("x", 6), nn.Embedding{Rows: 2, Dim: 2}, []string{"m/embedding_1", "f32[2 6]"}},
		"batch is lost": {nn.Input("x", 6), nn.Lambda{Name: "sum", F: func(g *graph.Graph, in []*graph.Value) *graph.Value {
			return g.Sum(in[0])
		}}, []string{"sum_1", "batch"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := nn.Sequential("m", c.in, c.spec)
			var bad interface{ BadInput() bool }
			if !errors.As(err, &bad) {
				t.Fatalf("got %v", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// TestPools compares pools of windows that are not square, and the maximum over whole images of
// which some are too large for one window, with what loops give.
func TestPools(t *testing.T) {
	const channels = 2
	value := func(_ string, i int) float32 { return float32(i*7919%1009) - 500 }
	for _, size := range [][2]int{{1, 1}, {6, 8}, {15, 17}, {16, 16}, {3, 300}, {520, 2}} {
		rows, columns := size[0], size[1]
		at := func(n, y, x, c int) float32 { return value("", ((n*rows+y)*columns+x)*channels+c) }
		most := func(n, y, x, height, width, c int) float32 {
			m := at(n, y, x, c)
			for i := range height {
				for j := range width {
					m = max(m, at(n, y+i, x+j, c))
				}
			}
			return m
		}
		m := sequence(t, nn.Input("x", rows, columns, channels), nn.GlobalMaxPool{})
		for i, got := range forward(t, m, 2, nn.Eval, value)[0].F32() {
			if want := most(i/channels, 0, 0, rows, columns, i%channels); got != want {
				t.Errorf("maximum of %v: %v, want %v", size, got, want)
			}
		}
		if rows < 3 || columns < 2 {
			continue
		}
		m = sequence(t, nn.Input("x", rows, columns, channels), nn.MaxPool{Size: 3, Size2: 2})
		height, width := rows/3, columns/2
		for i, got := range forward(t, m, 1, nn.Eval, value)[0].F32() {
			c, x, y := i%channels, i/channels%width, i/channels/width
			if want := most(0, 3*y, 2*x, 3, 2, c); got != want || y >= height {
				t.Errorf("3×2 windows of %v: %v at %d, want %v", size, got, i, want)
			}
		}
	}
}

func TestJoiningLayers(t *testing.T) {
	a, b := nn.Input("a", 4, 3), nn.Input("b", 4, 3)
	m, err := nn.NewModel("m", nn.In(a, b), nn.Out(
		nn.Add{Act: nn.ReLU}.On(a, b), nn.Concat{Axis: 0}.On(a, b), nn.Concat{Axis: -1}.On(a, b)))
	if err != nil {
		t.Fatal(err)
	}
	if !m.OutputShape(1).Equal([]int{8, 3}) || !m.OutputShape(2).Equal([]int{4, 6}) {
		t.Errorf("concat gives %v and %v", m.OutputShape(1), m.OutputShape(2))
	}
	out := forward(t, m, 1, nn.Eval, func(name string, i int) float32 {
		if name == "a" {
			return float32(i) - 5
		}
		return 1
	})
	for i, x := range out[0].F32() {
		if want := max(float32(i)-4, 0); x != want {
			t.Errorf("sum %d is %v, want %v", i, x, want)
		}
	}
	c := nn.Input("c", 3)
	if _, err := nn.NewModel("m", nn.In(a, c), nn.Out(nn.Add{}.On(a, c))); err == nil ||
		!strings.Contains(err.Error(), "f32[2 4 3] and f32[2 3]") {
		t.Errorf("adding different shapes: %v", err)
	}
	if _, err := nn.NewModel("m", nn.In(a, b), nn.Out(nn.Concat{Axis: -3}.On(a, b))); err == nil {
		t.Error("concat along the batch")
	}
}

func TestDropoutDependsOnMode(t *testing.T) {
	m := sequence(t, nn.Input("x", 1000), nn.Dropout{Rate: 0.5})
	one := func(string, int) float32 { return 1 }
	if got := forward(t, m, 1, nn.Eval, one)[0].F32(); slices.Min(got) != 1 || slices.Max(got) != 1 {
		t.Error("evaluation drops")
	}
	zeros := 0
	for _, x := range forward(t, m, 1, nn.Train, one)[0].F32() {
		if x == 0 {
			zeros++
		}
	}
	if zeros < 400 || zeros > 600 {
		t.Errorf("dropped %d of 1000 at the rate 0.5", zeros)
	}
}

// TestSharedDropout checks that each application of one layer draws its own mask.
func TestSharedDropout(t *testing.T) {
	x := nn.Input("x", 200)
	d := nn.NewLayer("drop", nn.Dropout{Rate: 0.5})
	m, err := nn.NewModel("m", nn.In(x), nn.Out(d.On(x), d.On(x)))
	if err != nil {
		t.Fatal(err)
	}
	out := forward(t, m, 1, nn.Train, func(string, int) float32 { return 1 })
	if slices.Equal(out[0].F32(), out[1].F32()) {
		t.Error("both applications drop the same units")
	}
}

func TestBatchNormDependsOnMode(t *testing.T) {
	m := sequence(t, nn.Input("x", 1), nn.BatchNorm{})
	x := func(_ string, i int) float32 { return float32(10 + 2*i) } // mean 13, deviation √5
	if got := forward(t, m, 4, nn.Eval, x)[0].F32(); math.Abs(float64(got[0])-10) > 1e-3 {
		t.Errorf("evaluation with fresh statistics gives %v, want the input", got)
	}
	got := forward(t, m, 4, nn.Train, x)[0].F32()
	if want := -3 / math.Sqrt(5); math.Abs(float64(got[0])-want) > 1e-3 {
		t.Errorf("training gives %v, want %v first", got, want)
	}
}

func TestLeakyReLU(t *testing.T) {
	x := nn.Input("x", 2)
	m, err := nn.NewModel("m", nn.In(x), nn.Out(
		nn.Activation{Act: nn.LeakyReLU}.On(x), nn.Activation{Act: nn.LeakyReLU, Slope: 0.5}.On(x)))
	if err != nil {
		t.Fatal(err)
	}
	out := forward(t, m, 1, nn.Eval, func(_ string, i int) float32 { return float32(4*i - 2) })
	if a, b := out[0].F32(), out[1].F32(); math.Abs(float64(a[0])+0.02) > 1e-7 || a[1] != 2 || b[0] != -1 || b[1] != 2 {
		t.Errorf("got %v and %v", a, b)
	}
}

func TestLoss(t *testing.T) {
	for kind, target := range map[nn.LossKind]tensor.DType{
		"": tensor.Int32, nn.CrossEntropy: tensor.Int32, nn.MSE: tensor.Float32, nn.BCE: tensor.Float32, nn.Huber: tensor.Float32,
	} {
		g := graph.New()
		l := nn.Loss{Kind: kind, Delta: 1}
		pred := g.Input("pred", graph.F32(3, 5))
		want := l.Target(pred.Spec)
		if want.DType != target || l.Classifies() != (target == tensor.Int32) {
			t.Errorf("%q wants targets %v", kind, want)
		}
		v := l.Apply(g, pred, g.Input("target", want))
		if err := g.Err(); err != nil || len(v.Shape()) != 0 {
			t.Errorf("%q: %v, %v", kind, v.Spec, err)
		}
	}
	var shape *graph.ShapeError
	g := graph.New()
	nn.Loss{Kind: "hinge"}.Apply(g, g.Input("p", graph.F32(2)), g.Input("t", graph.F32(2)))
	if !errors.As(g.Err(), &shape) {
		t.Errorf("an unknown loss: %v", g.Err())
	}
}
