package enginetest

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

// oddities are numbers at which floating-point code goes astray.
var oddities = []float32{0, float32(math.Copysign(0, -1)), 1, -1, 1e-30, 88, -88, 200, -200, 3e38, -3e38, inf, -inf, nan, 0.5}

// tiniest numbers are denormal: an engine may take them for 0, so they are tested only where
// that changes nothing that can be told apart.
var tiniest = []float32{1e-40, -1e-40, 1e-45, -1e-39, 0, 1, -1, 0.5}

// forward compares one operation on given numbers with the oracle.
func forward(t *testing.T, e engine.Engine, name string, numbers []float32, f func(b *Builder, x *graph.Value) *graph.Value) {
	t.Run(name, func(t *testing.T) {
		b := NewBuilder(name)
		b.Output("y", f(b, b.Given(numbers, len(numbers))))
		if err := b.Err(); err != nil {
			t.Fatal(err)
		}
		want := start(t, oracle.New(), b, b.Graph, engine.Options{})
		got := start(t, e, b, b.Graph, engine.Options{})
		want.step(t, engine.Step{})
		got.step(t, engine.Step{})
		same(t, b.Graph, got, want, tolerance{relative: true})
	})
}

// testDenormals wants numbers too small for the normal format to give 0 or themselves.
func testDenormals(t *testing.T, e engine.Engine) {
	for _, k := range []graph.Kind{graph.Neg, graph.Abs, graph.Exp, graph.Square, graph.Relu, graph.Sigmoid, graph.Tanh, graph.GELU, graph.SiLU} {
		forward(t, e, string(k), tiniest, func(b *Builder, x *graph.Value) *graph.Value { return b.Unary(k, x) })
	}
	column := func(b *Builder, x *graph.Value) *graph.Value { return b.Reshape(x, len(tiniest), 1) }
	for _, k := range []graph.Kind{graph.Add, graph.Sub, graph.Mul, graph.Max, graph.Min} {
		forward(t, e, string(k), tiniest, func(b *Builder, x *graph.Value) *graph.Value { return b.Binary(k, x, column(b, x)) })
	}
	forward(t, e, "matmul", tiniest, func(b *Builder, x *graph.Value) *graph.Value {
		return b.MatMul(column(b, x), b.Reshape(x, 1, len(tiniest)))
	})
}

// testOddities compares NaN, infinities and zeros of both signs in the forward direction.
func testOddities(t *testing.T, e engine.Engine) {
	n := len(oddities)
	build := func(name string, f func(b *Builder, x *graph.Value) *graph.Value) {
		forward(t, e, name, oddities, f)
	}
	for _, k := range []graph.Kind{
		graph.Neg, graph.Abs, graph.Exp, graph.Log, graph.Sqrt, graph.Square, graph.Relu, graph.Sigmoid, graph.Tanh,
	} {
		build(string(k), func(b *Builder, x *graph.Value) *graph.Value { return b.Unary(k, x) })
	}
	build("leaky", func(b *Builder, x *graph.Value) *graph.Value { return b.Leaky(0.25, x) })
	column := func(b *Builder, x *graph.Value) *graph.Value { return b.Reshape(x, n, 1) }
	for _, k := range []graph.Kind{graph.Add, graph.Sub, graph.Mul, graph.Max, graph.Min, graph.GE, graph.LT} {
		build(string(k), func(b *Builder, x *graph.Value) *graph.Value { return b.Binary(k, x, column(b, x)) })
	}
	build("relu of sum", func(b *Builder, x *graph.Value) *graph.Value {
		return b.Apply("binary", graph.BinaryAttr{Kind: graph.Add, Act: graph.ReLU}, x, column(b, x))[0]
	})
	build("relu gradient", func(b *Builder, x *graph.Value) *graph.Value {
		wide := b.Broadcast(x, n, n)
		tall := b.Broadcast(column(b, x), n, n)
		return b.Apply("unary_grad", graph.UnaryAttr{Kind: graph.Relu}, wide, tall)[0]
	})
	build("matmul", func(b *Builder, x *graph.Value) *graph.Value { return b.MatMul(column(b, x), b.Reshape(x, 1, n)) })
	build("matmul relu", func(b *Builder, x *graph.Value) *graph.Value {
		return b.relu(b.Add(b.MatMul(column(b, x), b.Reshape(x, 1, n)), x))
	})
	build("max_pool", func(b *Builder, x *graph.Value) *graph.Value {
		return b.MaxPool(b.Reshape(x, 1, 1, n, 1), [2]int{1, 2}, graph.Unit())
	})
	for _, k := range []graph.ReduceKind{graph.RSum, graph.RMax} {
		build("reduce "+string(k), func(b *Builder, x *graph.Value) *graph.Value {
			return b.Reduce(k, b.Slice(b.Binary(graph.Max, x, column(b, x)), []int{0, 0}, []int{n, n}), 1)
		})
	}
	build("softmax", func(b *Builder, x *graph.Value) *graph.Value {
		rows := b.Concat(0, b.Reshape(x, 1, n), b.Reshape(b.Given(slices.Repeat([]float32{3}, n), n), 1, n))
		return b.Softmax(rows)
	})
	build("transpose", func(b *Builder, x *graph.Value) *graph.Value {
		return b.Transpose(b.Broadcast(x, n, n), 1, 0)
	})
}

var registerOnce = sync.OnceValue(func() error {
	err := graph.Register(graph.OpDef{
		Name: "enginetest_cube",
		Infer: func(in []graph.Spec, _ any) ([]graph.Spec, error) {
			if len(in) != 1 {
				return nil, errors.New("wants one operand")
			}
			return in, nil
		},
		VJP: func(g *graph.Graph, n *graph.Node, dy []*graph.Value) []*graph.Value {
			three := g.Mul(g.Unary(graph.Square, n.In[0]), g.Scalar(3))
			return []*graph.Value{g.Mul(dy[0], three)}
		},
		Forward: func(_ any, in, out []*tensor.Tensor) error {
			for i, x := range in[0].F32() {
				out[0].F32()[i] = x * x * x
			}
			return nil
		},
	})
	return errors.Join(err, graph.Register(graph.OpDef{
		Name:    "enginetest_refuse",
		Infer:   func(in []graph.Spec, _ any) ([]graph.Spec, error) { return in, nil },
		Forward: func(any, []*tensor.Tensor, []*tensor.Tensor) error { return errRefused },
	}))
})

var errRefused = errors.New("refused")

// testCustom runs operations that a user registered: one in the middle of a net, one that fails.
func testCustom(t *testing.T, e engine.Engine) {
	if err := registerOnce(); err != nil {
		t.Fatal(err)
	}
	b := NewBuilder("custom")
	h := b.Apply("enginetest_cube", nil, b.dense(b.NormalInput(5, 3), 4))[0]
	loss := b.xent(b.dense(b.relu(h), 3))
	b.Output("loss", loss)
	if err := b.Train(loss); err != nil {
		t.Fatal(err)
	}
	b.update(rules[1].UpdateAttr, 1)
	compareTraining(t, e, b, steps, 1e-4)

	b = NewBuilder("refusal")
	b.Scope("net/custom", func() { b.Output("y", b.Apply("enginetest_refuse", nil, b.Normal(3))[0]) })
	r := start(t, e, b, b.Graph, engine.Options{})
	err := r.replica.Run(engine.All, engine.Step{})
	var re *engine.RunError
	if !errors.As(err, &re) || !errors.Is(err, errRefused) || re.Path != "net/custom" || re.Op != "enginetest_refuse" {
		t.Errorf("an operation that fails: %v", err)
	}
}

// testEvaluation compiles the forward graph with the training graph's layout, on the same
// vectors: it must see what training has changed, and change nothing.
func testEvaluation(t *testing.T, e engine.Engine) {
	trained := mustTrain(t, nets()[0])
	r := unsplit(t, e, trained)
	forward := NewBuilder(nets()[0].name)
	loss := nets()[0].build(forward)
	forward.Output("loss", loss)
	p, err := e.Compile(forward.Graph, engine.Options{Layout: r.program.Layout()})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Buckets()) != 0 {
		t.Errorf("a graph without gradients has buckets %v", p.Buckets())
	}
	ev, err := p.NewReplica(r.vectors)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range forward.Inputs {
		copy(ev.Input(in.Name).Bytes(), r.replica.Input(in.Name).Bytes())
	}
	before := slices.Clone(r.vectors.Params)
	if err := ev.Run(engine.All, engine.Step{}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, r.vectors.Params) {
		t.Error("evaluation changed the params")
	}
	got := ev.Output("loss").F32()[0]
	r.step(t, engine.Step{}) // the next step's loss is that of the same weights
	if want := r.replica.Output("loss").F32()[0]; math.Abs(float64(got-want)) > 1e-6*math.Abs(float64(want)) {
		t.Errorf("evaluation says %v, training %v", got, want)
	}
}

// testDescription wants the lists that a program gives of itself to fit the graph.
func testDescription(t *testing.T, e engine.Engine) {
	if e.Name() == "" {
		t.Error("the engine has no name")
	}
	for _, n := range nets() {
		b := mustTrain(t, n)
		lean, err := graph.Optimize(b.Graph) // without gradients that nobody asked for
		if err != nil {
			t.Fatal(err)
		}
		p := start(t, e, b, b.Graph, engine.Options{}).program
		m := p.Memory()
		if m.Arena < m.LowerBound || m.LowerBound <= 0 || m.Ratio() < 1 {
			t.Errorf("%s: memory %+v", n.name, m)
		}
		var flops, want int64
		for _, o := range p.Ops() {
			if o.Op == "" || o.Kernel == "" {
				t.Errorf("%s: an operation without a name: %+v", n.name, o)
			}
			flops += o.Flops
		}
		for _, node := range lean.Nodes {
			want += graph.Flops(node)
		}
		if flops < want {
			t.Errorf("%s: %d flops in the program, %d in the graph", n.name, flops, want)
		}
	}
}

// testShared gives the same gradient to two params: y = a + b.
func testShared(t *testing.T, e engine.Engine) {
	b := NewBuilder("shared gradient")
	p, q, r := b.Normal(4, 5), b.Normal(4, 5), b.Normal(20)
	loss := b.Loss(b.Add(b.Add(p, q), b.Reshape(r, 4, 5)), b.NormalInput(4, 5), graph.LossAttr{Kind: graph.MSE})
	b.Output("loss", loss)
	b.Output("sum", b.Add(p, q))
	b.Output("itself", p)
	unused := b.Normal(3)
	if err := b.Train(loss); err != nil {
		t.Fatal(err)
	}
	b.update(rules[1].UpdateAttr, 0.1)
	compareTraining(t, e, b, steps, 1e-5)
	got := start(t, e, b, b.Graph, engine.Options{SplitUpdate: true})
	if err := got.replica.Run(engine.Backward, engine.Step{}); err != nil {
		t.Fatal(err)
	}
	for _, x := range got.vectors.Grad(unused.Name) {
		if x != 0 {
			t.Errorf("a param that the loss does not need has gradient %v", x)
		}
	}
	if !slices.Equal(got.vectors.Grad(p.Name), got.vectors.Grad(q.Name)) || !slices.Equal(got.vectors.Grad(p.Name), got.vectors.Grad(r.Name)) {
		t.Error("the params of a sum have different gradients")
	}
	for i, x := range got.replica.Output("itself").F32() {
		if x != b.Floats[p.Name][i] {
			t.Fatal("a param handed out as an output is not itself")
		}
	}
}
