package enginetest

import (
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"pgregory.net/rapid"
)

// grower adds random operations to a graph.
type grower struct {
	*Builder
	t      *rapid.T
	values []*graph.Value
}

// pick draws a value with the given number of axes, or any number if that is negative. Late
// values are likelier, so that chains arise.
func (w *grower) pick(rank int) *graph.Value {
	fit := []*graph.Value{}
	for _, v := range w.values {
		if rank < 0 || len(v.Shape()) == rank {
			fit = append(fit, v)
		}
	}
	if len(fit) == 0 {
		fit = append(fit, w.Normal([]int{4, 4, 4, 4}[:rank]...))
	}
	back := min(rapid.IntRange(0, 5).Draw(w.t, "back"), len(fit)-1)
	return fit[len(fit)-1-back]
}

// grow adds one operation.
func (w *grower) grow() {
	v := w.step(rapid.IntRange(0, 19).Draw(w.t, "operation"))
	if v.Shape().Elems() > 2000 {
		v = w.Slice(v, make([]int, len(v.Shape())), ones(len(v.Shape())))
	}
	w.values = append(w.values, v)
}

func ones(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func (w *grower) step(choice int) *graph.Value {
	switch choice {
	case 0, 1:
		x := w.pick(2)
		return w.Unary(graph.Tanh, w.MatMul(x, w.Normal(x.Shape()[1], rapid.IntRange(1, 4).Draw(w.t, "columns"))))
	case 2, 3:
		x := w.pick(4)
		return w.randomConv(x)
	case 4, 5, 6:
		return w.Unary(graph.Relu, w.pick(-1))
	case 7:
		x := w.pick(-1)
		return w.Add(x, w.Normal(x.Shape().Last()))
	case 8, 9:
		x := w.pick(-1)
		return w.Add(x, w.like(x))
	case 10:
		x := w.pick(-1)
		return w.Binary(rapid.SampledFrom([]graph.Kind{graph.Sub, graph.Mul}).Draw(w.t, "function"), w.like(x), x)
	case 11:
		x := w.pick(-1)
		return w.Reshape(x, w.shapeOf(x.Shape().Elems())...)
	case 12:
		x := w.pick(-1)
		return w.Transpose(x, rapid.Permutation(upTo(len(x.Shape()))).Draw(w.t, "axes")...)
	case 13:
		k := rapid.SampledFrom([]graph.Kind{graph.Neg, graph.Tanh, graph.Sigmoid, graph.Abs}).Draw(w.t, "function")
		return w.Unary(k, w.pick(-1))
	case 14:
		c := rapid.SampledFrom([]float32{0, 1, 0.5}).Draw(w.t, "constant")
		k := rapid.SampledFrom([]graph.Kind{graph.Add, graph.Sub, graph.Mul}).Draw(w.t, "function")
		return w.Binary(k, w.pick(-1), w.Scalar(c))
	case 15:
		return w.randomPool(w.pick(4))
	case 16:
		return w.Dropout(w.pick(-1), graph.DropoutAttr{Rate: rapid.SampledFrom([]float32{0, 0.5}).Draw(w.t, "rate"), Stream: 1})
	case 17:
		return w.randomNorm(w.pick(rapid.SampledFrom([]int{2, 4}).Draw(w.t, "rank")))
	case 18:
		x := w.pick(-1)
		axes := []int{}
		for i := range x.Shape() {
			if rapid.Bool().Draw(w.t, "axis") {
				axes = append(axes, i)
			}
		}
		return w.Broadcast(w.Apply("reduce", graph.ReduceAttr{Kind: graph.RMean, Axes: axes, Keep: true}, x)[0], x.Shape()...)
	default:
		x := w.pick(-1)
		return w.Concat(0, w.Apply("pad", graph.PadAttr{Before: make([]int, len(x.Shape())), After: make([]int, len(x.Shape()))}, x)...)
	}
}

// like is a value of x's shape: an old one, if there is one, or a param.
func (w *grower) like(x *graph.Value) *graph.Value {
	for _, v := range w.values {
		if v.Shape().Equal(x.Shape()) && v != x {
			return v
		}
	}
	return w.Normal(x.Shape()...)
}

func (w *grower) randomConv(x *graph.Value) *graph.Value {
	c := x.Shape()[3]
	k := rapid.IntRange(1, 2).Draw(w.t, "taps")
	win := graph.Unit().Same(x.Shape()[1], x.Shape()[2], k, k)
	return w.Conv2D(x, w.Normal(k, k, c, rapid.SampledFrom([]int{1, 2, c}).Draw(w.t, "channels")), win, 1)
}

func (w *grower) randomPool(x *graph.Value) *graph.Value {
	win := graph.Unit().Same(x.Shape()[1], x.Shape()[2], 2, 2)
	return w.MaxPool(x, [2]int{2, 2}, win)
}

func (w *grower) randomNorm(x *graph.Value) *graph.Value {
	op := rapid.SampledFrom([]string{"batch_norm", "batch_norm_infer"}).Draw(w.t, "norm")
	if x.Shape().Rows() < 2 {
		op = "batch_norm_infer"
	}
	c := x.Shape().Last()
	return w.Apply(op, graph.NormAttr{Eps: 0.1, Momentum: 0.5}, x, w.Normal(c), w.Normal(c), w.Kept(c), w.Kept(c))[0]
}

// shapeOf draws a shape of n elements with 2 or 4 axes.
func (w *grower) shapeOf(n int) []int {
	s := ones(rapid.SampledFrom([]int{2, 4}).Draw(w.t, "axes"))
	at := rapid.IntRange(0, len(s)-1).Draw(w.t, "long axis")
	s[at] = n
	if n%2 == 0 {
		s[at] /= 2
		s[(at+1)%len(s)] *= 2
	}
	return s
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// RandomGraph draws a graph with an input, outputs, gradients and updates.
func RandomGraph(t *rapid.T) *Builder {
	w := &grower{Builder: NewBuilder("random"), t: t}
	w.values = []*graph.Value{w.NormalInput(2, 4, 4, 2), w.Normal(3, 4)}
	for range rapid.IntRange(1, 14).Draw(t, "operations") {
		w.grow()
	}
	last := w.values[len(w.values)-1]
	w.Output("y", last)
	w.Output("z", w.pick(-1))
	loss := w.Sum(w.Square(w.Unary(graph.Tanh, last)))
	w.Output("loss", loss)
	if err := w.Train(loss); err != nil {
		t.Fatalf("%v\n%v", err, w.Graph)
	}
	w.update(graph.UpdateAttr{Kind: graph.SGD, Momentum: 0.5}, 0)
	if err := w.Check(); err != nil {
		t.Fatalf("%v\n%v", err, w.Graph)
	}
	return w.Builder
}

// testRandom compares random graphs, always the same ones.
func testRandom(t *testing.T, e engine.Engine) {
	draw := rapid.Custom(RandomGraph)
	for seed := range 400 {
		b := draw.Example(seed)
		at := engine.Step{Seed: 3}
		// A fused update may keep its gradient to itself, so gradients are compared without.
		split := seed%2 == 0
		want, got := start(t, oracle.New(), b, b.Graph, engine.Options{}), start(t, e, b, b.Graph, engine.Options{SplitUpdate: split})
		want.step(t, at)
		got.step(t, at)
		same(t, b.Graph, got, want, tolerance{slack: 4, cancels: 1, tremors: tremors(t, b, at), noGradients: !split})
		if t.Failed() {
			t.Fatalf("graph %d:\n%v", seed, b.Graph)
		}
	}
}
