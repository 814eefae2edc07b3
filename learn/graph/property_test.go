package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
	"pgregory.net/rapid"
)

// grower adds random operations to a graph.
type grower struct {
	*graph.Graph
	t      *rapid.T
	values []*graph.Value
	made   int
}

func (w *grower) name(prefix string) string {
	w.made++
	return fmt.Sprint(prefix, w.made)
}

func (w *grower) param(shape ...int) *graph.Value { return w.Param(w.name("p"), shape...) }

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
		fit = append(fit, w.param([]int{4, 4, 4, 4}[:rank]...))
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
		return w.Unary(graph.Tanh, w.MatMul(x, w.param(x.Shape()[1], rapid.IntRange(1, 4).Draw(w.t, "columns"))))
	case 2, 3:
		x := w.pick(4)
		return w.conv(x)
	case 4, 5, 6:
		return w.Unary(graph.Relu, w.pick(-1))
	case 7:
		x := w.pick(-1)
		return w.Add(x, w.param(x.Shape().Last()))
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
		return w.pool(w.pick(4))
	case 16:
		return w.Dropout(w.pick(-1), graph.DropoutAttr{Rate: rapid.SampledFrom([]float32{0, 0.5}).Draw(w.t, "rate"), Stream: 1})
	case 17:
		return w.norm(w.pick(rapid.SampledFrom([]int{2, 4}).Draw(w.t, "rank")))
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
	return w.param(x.Shape()...)
}

func (w *grower) conv(x *graph.Value) *graph.Value {
	c := x.Shape()[3]
	k := rapid.IntRange(1, 2).Draw(w.t, "taps")
	win := graph.Unit().Same(x.Shape()[1], x.Shape()[2], k, k)
	return w.Conv2D(x, w.param(k, k, c, rapid.SampledFrom([]int{1, 2, c}).Draw(w.t, "channels")), win, 1)
}

func (w *grower) pool(x *graph.Value) *graph.Value {
	win := graph.Unit().Same(x.Shape()[1], x.Shape()[2], 2, 2)
	return w.MaxPool(x, [2]int{2, 2}, win)
}

func (w *grower) norm(x *graph.Value) *graph.Value {
	op := rapid.SampledFrom([]string{"batch_norm", "batch_norm_infer"}).Draw(w.t, "norm")
	if x.Shape().Rows() < 2 {
		op = "batch_norm_infer"
	}
	c := x.Shape().Last()
	return w.Apply(op, graph.NormAttr{Eps: 0.1, Momentum: 0.5}, x, w.param(c), w.param(c), w.State(w.name("m"), c), w.State(w.name("v"), c))[0]
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

// randomGraph draws a graph with an input, outputs, gradients and updates.
func randomGraph(t *rapid.T) *graph.Graph {
	w := &grower{Graph: graph.New(), t: t}
	w.values = []*graph.Value{w.Input("x", graph.F32(2, 4, 4, 2)), w.param(3, 4)}
	for range rapid.IntRange(1, 14).Draw(t, "operations") {
		w.grow()
	}
	last := w.values[len(w.values)-1]
	w.Output("y", last)
	w.Output("z", w.pick(-1))
	loss := w.Sum(w.Unary(graph.Square, w.Unary(graph.Tanh, last)))
	w.Output("loss", loss)
	if err := w.Train(loss); err != nil {
		t.Fatalf("%v\n%v", err, w.Graph)
	}
	hyper := w.Input("hyper", graph.F32(graph.HyperLen))
	for _, d := range w.Grads {
		w.Apply("update", graph.UpdateAttr{Kind: graph.SGD, Momentum: 0.5}, hyper, w.Scalar(1), d.Param, d.Value, w.SlotState(d.Param, 0))
	}
	if err := w.Check(); err != nil {
		t.Fatalf("%v\n%v", err, w.Graph)
	}
	return w.Graph
}

// results evaluates a graph on numbers that depend on names alone, and lists outputs,
// gradients, and what the params, slots and states have become.
func results(t *rapid.T, g *graph.Graph) map[string][]float64 {
	ev, err := oracle.NewEval(g)
	if err != nil {
		t.Fatalf("%v\n%v", err, g)
	}
	all := [][]*graph.Value{g.Inputs, g.Params, g.States, g.Slots}
	for _, list := range all {
		for _, v := range list {
			seed := uint64(0)
			for _, c := range v.Name {
				seed = seed*131 + uint64(c)
			}
			rnd := rand.New(rand.NewPCG(seed, 1))
			for i := range ev.Floats(v.Name) {
				ev.Floats(v.Name)[i] = 0.25 + rnd.Float64()
				if v.Op() != "state" && rnd.IntN(2) == 0 {
					ev.Floats(v.Name)[i] *= -1
				}
			}
		}
	}
	if err := ev.Run(engine.Step{Seed: 1}); err != nil {
		t.Fatalf("%v\n%v", err, g)
	}
	out := map[string][]float64{}
	for _, o := range g.Outputs {
		out["output "+o.Name] = ev.Of(o.Value)
	}
	for _, d := range g.Grads {
		out["gradient "+d.Param.Name] = ev.Of(d.Value)
	}
	for _, list := range all[1:] {
		for _, v := range list {
			out[v.Name] = ev.Floats(v.Name)
		}
	}
	return out
}

// TestOptimizeKeepsResults evaluates random graphs before and after each way to change them.
func TestOptimizeKeepsResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		want := results(t, g)
		optimised, err := graph.Optimize(g)
		if err != nil {
			t.Fatalf("%v\n%v", err, g)
		}
		compare(t, g, optimised, want)
		scheduled, err := graph.ScheduleUpdates(optimised)
		if err != nil {
			t.Fatalf("%v\n%v", err, optimised)
		}
		compare(t, optimised, scheduled, want)
		again, err := graph.Optimize(scheduled)
		if err != nil {
			t.Fatalf("%v\n%v", err, scheduled)
		}
		compare(t, scheduled, again, want)
		if n, m := cost(g), cost(optimised); m > n+3*len(g.States) { // a folded norm costs a few small nodes
			t.Fatalf("%d operations became %d:\n%v\n%v", n, m, g, optimised)
		}
	})
}

// cost counts the operations that compute something: reshapes are free.
func cost(g *graph.Graph) int {
	n := 0
	for _, node := range g.Nodes {
		if len(node.In) > 0 && node.Op != "reshape" {
			n++
		}
	}
	return n
}

// compare allows for constants that were folded in float32.
func compare(t *rapid.T, before, after *graph.Graph, want map[string][]float64) {
	got := results(t, after)
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	for name, w := range want {
		top := 1.0
		for _, x := range w {
			top = math.Max(top, math.Abs(x))
		}
		for i, x := range w {
			if !(math.Abs(got[name][i]-x) <= 1e-6*top) && !(math.IsNaN(x) && math.IsNaN(got[name][i])) {
				t.Fatalf("%s, element %d: %v became %v\n%v\n%v", name, i, x, got[name][i], before, after)
			}
		}
	}
}

// TestGradientsOfSharedValues uses a value in several ways, so that its gradient is a sum.
func TestGradientsOfSharedValues(t *testing.T) {
	g := graph.New()
	x := g.Param("x", 3)
	y := g.Unary(graph.Square, x)
	loss := g.Sum(g.Add(g.Mul(y, x), g.Add(y, g.Concat(0, x))))
	g.Output("loss", loss)
	if err := g.Train(loss); err != nil {
		t.Fatal(err)
	}
	ev, err := oracle.NewEval(g)
	if err != nil {
		t.Fatal(err)
	}
	copy(ev.Floats("x"), []float64{-1, 0, 2})
	if err := ev.Run(engine.Step{}); err != nil {
		t.Fatal(err)
	}
	for i, x := range ev.Floats("x") { // x³ + x² + x
		if want := 3*x*x + 2*x + 1; math.Abs(ev.Of(g.Grads[0].Value)[i]-want) > 1e-12 {
			t.Errorf("gradient at %v is %v, want %v", x, ev.Of(g.Grads[0].Value)[i], want)
		}
	}
}

// TestUnusedParam wants zeros for what the loss does not need.
func TestUnusedParam(t *testing.T) {
	g := graph.New()
	g.Param("unused", 2, 3)
	if err := g.Train(g.Sum(g.Param("x", 2))); err != nil {
		t.Fatal(err)
	}
	zero := g.Grads[0].Value
	if zero.Op() != "const" || !zero.Shape().Equal(tensor.Shape{2, 3}) {
		t.Errorf("gradient of an unused param is %v", zero.Node)
	}
	for _, x := range zero.Node.Attr.(graph.ConstAttr).Data {
		if x != 0 {
			t.Error("gradient of an unused param is not zero")
		}
	}
}
