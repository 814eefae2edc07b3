package oracle_test

import (
	"math"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/enginetest"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

// known is a graph whose results can be worked out by hand.
type known struct {
	name  string
	build func(b *enginetest.Builder) []*graph.Value
	want  [][]float64
}

func one(v *graph.Value) []*graph.Value { return []*graph.Value{v} }

func counting(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}

var third = 1.0 / 3

var knowns = []known{
	{"convolution is a correlation", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 3, 3, 1)
		w := b.Given([]float32{1, 10, 100, 1000}, 2, 2, 1, 1)
		return one(b.Conv2D(x, w, graph.Unit(), 1))
	}, [][]float64{{5421, 6532, 8754, 9865}}},
	{"padding on the top and left, stride 2", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 3, 3, 1)
		w := b.Given([]float32{1, 10, 100, 1000}, 2, 2, 1, 1)
		win := graph.Window{Stride: [2]int{2, 2}, Dilation: [2]int{1, 1}, Pad: [4]int{1, 0, 1, 0}}
		return one(b.Conv2D(x, w, win, 1))
	}, [][]float64{{1000, 3200, 7040, 9865}}},
	{"dilation", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 3, 3, 1)
		w := b.Given([]float32{1, 10, 100, 1000}, 2, 2, 1, 1)
		return one(b.Conv2D(x, w, graph.Window{Stride: [2]int{1, 1}, Dilation: [2]int{2, 2}}, 1))
	}, [][]float64{{1 + 30 + 700 + 9000}}},
	{"groups see only their channels", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 2, 3, 4}, 1, 1, 1, 4)
		w := b.Given([]float32{1, 1, 1, 1, 10, 10, 10, 10}, 1, 1, 2, 4)
		return one(b.Conv2D(x, w, graph.Unit(), 2))
	}, [][]float64{{21, 21, 43, 43}}},
	{"SAME puts the odd pixel at the bottom and right", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 2, 3, 4}, 1, 2, 2, 1)
		w := b.Given([]float32{1, 10, 100, 1000}, 2, 2, 1, 1)
		return one(b.Conv2D(x, w, graph.Unit().Same(2, 2, 2, 2), 1))
	}, [][]float64{{4321, 402, 43, 4}}},
	{"max pooling and its tap", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 5, 5, 2, -1, -2, -3, -4}, 1, 2, 4, 1)
		return b.Apply("max_pool", graph.PoolAttr{Window: graph.Unit(), Taps: [2]int{2, 2}}, x)[:1]
	}, [][]float64{{5, 5, 5}}},
	{"max pooling never takes padding", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{-1, -2}, 1, 1, 2, 1)
		return one(b.MaxPool(x, [2]int{1, 2}, graph.Window{Stride: [2]int{1, 2}, Dilation: [2]int{1, 1}, Pad: [4]int{0, 0, 1, 1}}))
	}, [][]float64{{-1, -2}}},
	{"average pooling with and without padding in the count", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{6, 12}, 1, 1, 2, 1)
		win := graph.Window{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Pad: [4]int{0, 0, 1, 0}}
		return []*graph.Value{b.AvgPool(x, [2]int{1, 2}, win, true), b.AvgPool(x, [2]int{1, 2}, win, false)}
	}, [][]float64{{3, 9}, {6, 9}}},
	{"batch norm: biased in the result, unbiased in the running variance", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 3}, 2, 1)
		mean, variance := b.State("mean", 1), b.State("variance", 1)
		b.Floats["mean"], b.Floats["variance"] = []float32{10}, []float32{20}
		a := graph.NormAttr{Eps: 3, Momentum: 0.25}
		out := b.Apply("batch_norm", a, x, b.Given([]float32{4}, 1), b.Given([]float32{5}, 1), mean, variance)
		return append(out, mean, variance)
	}, [][]float64{{3, 7}, {2}, {0.5}, {8}, {15.5}}},
	{"layer norm", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, 3, 10, 10}, 2, 2)
		return b.Apply("layer_norm", graph.NormAttr{Eps: 3}, x, b.Given([]float32{2, 4}, 2), b.Given([]float32{0, 1}, 2))
	}, [][]float64{{-1, 3, 0, 1}, {2, 10}, {0.5, 1 / math.Sqrt(3)}}},
	{"softmax and its logarithm", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1000, 1000, 1000}, 3)
		return []*graph.Value{b.Softmax(x), b.LogSoftmax(x)}
	}, [][]float64{{third, third, third}, {-math.Log(3), -math.Log(3), -math.Log(3)}}},
	{"cross-entropy with an ignored row", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{0, 0, 7, 9}, 2, 2)
		labels := b.Indices(func(i int) int { return []int{1, -1}[i] }, 2)
		return b.Apply("softmax_xent", graph.XentAttr{Ignore: -1}, x, labels)
	}, [][]float64{{math.Ln2}, {0.5, -0.5, 0, 0}}},
	{"cross-entropy with smoothing", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{0, float32(math.Log(3))}, 1, 2)
		labels := b.Indices(func(int) int { return 1 }, 1)
		return b.Apply("softmax_xent", graph.XentAttr{Ignore: graph.NoIgnore, Smoothing: 0.5}, x, labels)
	}, [][]float64{{0.25*math.Log(4) + 0.75*math.Log(4.0/3)}, {0, 0}}},
	{"losses", func(b *enginetest.Builder) []*graph.Value {
		p, t := b.Given([]float32{3, 0.5}, 2), b.Given([]float32{1, 0}, 2)
		out := []*graph.Value{}
		for _, a := range []graph.LossAttr{{Kind: graph.MSE}, {Kind: graph.Huber, Delta: 1}} {
			out = append(out, b.Apply("loss", a, p, t)...)
		}
		return append(out, b.Apply("loss", graph.LossAttr{Kind: graph.BCE}, b.Given([]float32{0, 0}, 2), t)...)
	}, [][]float64{{2.125}, {2, 0.5}, {(1.5 + 0.125) / 2}, {0.5, 0.25}, {math.Ln2}, {-0.25, 0.25}}},
	{"activations", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given([]float32{1, -1}, 2)
		out := []*graph.Value{}
		for _, k := range []graph.Kind{graph.GELU, graph.GELUTanh, graph.SiLU, graph.Sigmoid, graph.Relu} {
			out = append(out, b.Unary(k, x))
		}
		return append(out, b.Leaky(0.5, x))
	}, [][]float64{{0.841344746068543, -0.158655253931457}, {0.841191990608276, -0.158808009391724},
		{0.731058578630005, -0.268941421369995}, {0.731058578630005, 0.268941421369995}, {1, 0}, {1, -0.5}}},
	{"gather and scatter", func(b *enginetest.Builder) []*graph.Value {
		rows := b.Indices(func(i int) int { return []int{2, 0, 2}[i] }, 3)
		picked := b.Gather(b.Given(counting(6), 3, 2), rows)
		return []*graph.Value{picked, b.Apply("scatter_add", graph.RowsAttr{Rows: 4}, rows, picked)[0]}
	}, [][]float64{{5, 6, 1, 2, 5, 6}, {1, 2, 0, 0, 10, 12, 0, 0}}},
	{"moving", func(b *enginetest.Builder) []*graph.Value {
		x := b.Given(counting(6), 2, 3)
		return []*graph.Value{
			b.Transpose(x, 1, 0),
			b.Slice(x, []int{0, 1}, []int{2, 3}),
			b.Apply("pad", graph.PadAttr{Before: []int{0, 1}, After: []int{1, 0}, Value: 9}, x)[0],
			b.Concat(1, x, b.Slice(x, []int{0, 0}, []int{2, 1})),
			b.Broadcast(b.Slice(x, []int{0, 0}, []int{2, 1}), 2, 2),
			b.Reduce(graph.RMax, x, 0), b.Mean(x, 1), b.Sum(x),
		}
	}, [][]float64{{1, 4, 2, 5, 3, 6}, {2, 3, 5, 6}, {9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9}, {1, 2, 3, 1, 4, 5, 6, 4}, {1, 1, 4, 4},
		{4, 5, 6}, {2, 5}, {21}}},
	{"a fused product, in order: bias, residual, activation, mask", func(b *enginetest.Builder) []*graph.Value {
		a := graph.MatMulAttr{Fused: graph.Fused{Bias: true, Residual: true, Act: graph.ReLU, Mask: true}}
		x, w := b.Given([]float32{1, 2}, 1, 2), b.Given([]float32{1, 0, 2, 0, 1, 3}, 2, 3)
		return b.Apply("matmul", a, x, w, b.Given([]float32{10, -20, 30}, 3), b.Given([]float32{1, 1, 1}, 1, 3), b.Given([]float32{1, 1, 0}, 1, 3))
	}, [][]float64{{12, 0, 0}}},
}

func TestKnownResults(t *testing.T) {
	for _, k := range knowns {
		b := enginetest.NewBuilder(k.name)
		out := k.build(b)
		if err := b.Err(); err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		ev := bind(t, b.Graph, b)
		if err := ev.Run(engine.Step{}); err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		if len(out) != len(k.want) {
			t.Errorf("%s: %d results, want %d", k.name, len(out), len(k.want))
			continue
		}
		for i, want := range k.want {
			close(t, k.name, i, ev.Of(out[i]), want)
		}
	}
}

func close(t *testing.T, name string, result int, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s, result %d: %v, want %v", name, result, got, want)
		return
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= 1e-7*math.Max(1, math.Abs(w))) { // some operands are rounded to float32
			t.Errorf("%s, result %d: %v, want %v", name, result, got, want)
			return
		}
	}
}

// TestKnownUpdates follows each rule for two steps with w = 1 and the gradient 2.
func TestKnownUpdates(t *testing.T) {
	for _, c := range []struct {
		rule graph.UpdateAttr
		want float64
	}{
		{graph.UpdateAttr{Kind: graph.SGD}, 1 - 0.2 - 0.2},
		{graph.UpdateAttr{Kind: graph.SGD, Momentum: 0.5}, 1 - 0.2 - 0.3},
		{graph.UpdateAttr{Kind: graph.SGD, Momentum: 0.5, Nesterov: true}, 1 - 0.3 - 0.35},
		{graph.UpdateAttr{Kind: graph.SGD, Decay: 1}, 0.7 - 0.27},
		// m/(1−β1ᵗ) is the gradient and s/(1−β2ᵗ) its square, whatever t.
		{graph.UpdateAttr{Kind: graph.Adam, Beta1: 0.9, Beta2: 0.99}, 1 - 0.1 - 0.1},
		{graph.UpdateAttr{Kind: graph.Adam, Beta1: 0.9, Beta2: 0.99, Decay: 0.5, Decoupled: true}, (1*0.95-0.1)*0.95 - 0.1},
		{graph.UpdateAttr{Kind: graph.RMSProp, Beta2: 0.75}, 1 - 0.1*2 - 0.1*2/math.Sqrt(1.75)},
		{graph.UpdateAttr{Kind: graph.RMSProp, Beta2: 0.75, Momentum: 0.5}, 1 - 0.2 - (0.1 + 0.2/math.Sqrt(1.75))},
		{graph.UpdateAttr{Kind: graph.LARS, Trust: 1}, 1 - 0.1 - 0.09},
	} {
		b := enginetest.NewBuilder("updates")
		w := b.Given([]float32{1}, 1)
		hyper := b.Input("hyper", graph.F32(graph.HyperLen))
		loss := b.Sum(b.Mul(w, b.Scalar(2)))
		if err := b.Train(loss); err != nil {
			t.Fatal(err)
		}
		ops := []*graph.Value{hyper, b.Scalar(1), w, b.Grads[0].Value}
		for k := range c.rule.Slots() {
			ops = append(ops, b.SlotState(w, k))
		}
		b.Apply("update", c.rule, ops...)
		ev := bind(t, b.Graph, b)
		for i := range uint64(2) {
			copy(ev.Floats("hyper"), []float64{graph.HyperLR: 0.1, graph.HyperStep: float64(i + 1), graph.HyperScale: 1})
			if err := ev.Run(engine.Step{Index: i}); err != nil {
				t.Fatal(err)
			}
		}
		if got := ev.Floats(w.Name)[0]; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v, want %v", c.rule, got, c.want)
		}
	}
}

// TestDropout wants the right share of elements kept, scaled, and masks that depend on seed,
// step and stream, and on nothing else.
func TestDropout(t *testing.T) {
	const n = 20000
	mask := func(stream uint32, at engine.Step) []float64 {
		g := graph.New()
		g.Output("y", g.Dropout(g.Param("x", n), graph.DropoutAttr{Rate: 0.25, Stream: stream}))
		ev, err := oracle.NewEval(g)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ev.Floats("x") {
			ev.Floats("x")[i] = 3
		}
		if err := ev.Run(at); err != nil {
			t.Fatal(err)
		}
		return ev.Of(g.Outputs[0].Value)
	}
	first := mask(1, engine.Step{Seed: 1, Index: 1})
	kept := 0
	for _, x := range first {
		if x != 0 && x != 4 {
			t.Fatalf("an element is %v, want 0 or 4", x)
		}
		kept += int(x / 4)
	}
	if share := float64(kept) / n; math.Abs(share-0.75) > 0.015 { // five standard deviations
		t.Errorf("a share of %v is kept, want 0.75", share)
	}
	differing := func(other []float64) int {
		d := 0
		for i := range first {
			if first[i] != other[i] {
				d++
			}
		}
		return d
	}
	if differing(mask(1, engine.Step{Seed: 1, Index: 1})) != 0 {
		t.Error("the same step gives another mask")
	}
	for name, other := range map[string][]float64{
		"stream": mask(2, engine.Step{Seed: 1, Index: 1}), "seed": mask(1, engine.Step{Seed: 2, Index: 1}), "step": mask(1, engine.Step{Seed: 1, Index: 2}),
	} {
		if share := float64(differing(other)) / n; math.Abs(share-0.375) > 0.02 {
			t.Errorf("another %s changes a share of %v, want that of independent masks, 0.375", name, share)
		}
	}
}
