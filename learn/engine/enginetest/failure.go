package enginetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
)

// testBadIndices feeds labels and rows that are out of range: the error names layer, operation,
// position and limit, no weight changes, and the next run with good data is as if nothing was.
func testBadIndices(t *testing.T, e engine.Engine) {
	for _, c := range []struct {
		op, what string
		limit    int
		build    func(b *Builder, rows *graph.Value) *graph.Value
	}{
		{"softmax_xent", "label", 5, func(b *Builder, rows *graph.Value) *graph.Value {
			return b.SoftmaxXent(b.dense(b.NormalInput(4, 3), 5), rows, graph.XentAttr{Ignore: graph.NoIgnore})
		}},
		{"gather", "row", 6, func(b *Builder, rows *graph.Value) *graph.Value {
			return b.Sum(b.Square(b.Gather(b.Normal(6, 3), rows)))
		}},
		{"scatter_add", "row", 7, func(b *Builder, rows *graph.Value) *graph.Value {
			return b.Sum(b.Square(b.Apply("scatter_add", graph.RowsAttr{Rows: 7}, rows, b.Normal(4, 2))[0]))
		}},
	} {
		b := NewBuilder(c.op)
		rows := b.Below(c.limit, 4)
		var loss *graph.Value
		b.Scope("net/bad", func() { loss = c.build(b, rows) })
		b.Output("loss", loss)
		if err := b.Train(loss); err != nil {
			t.Fatal(err)
		}
		b.update(rules[1].UpdateAttr, 0)
		want := unsplit(t, e, b)
		got := start(t, e, b, b.Graph, engine.Options{})
		for _, bad := range []int32{int32(c.limit), -1, math.MaxInt32, math.MinInt32 + 1} {
			got.replica.Input(rows.Name).I32()[2] = bad
			before := slices.Clone(got.vectors.Params)
			err := got.replica.Run(engine.All, engine.Step{})
			var re *engine.RunError
			var out *engine.RangeError
			if !errors.As(err, &re) || !errors.As(err, &out) {
				t.Fatalf("%s with %s %d: %v", c.op, c.what, bad, err)
			}
			if re.Path != "net/bad" || re.Op != c.op || out.What != c.what || out.At != 2 || out.Value != int(bad) || out.Limit != c.limit {
				t.Errorf("%s with %s %d: %+v, %+v", c.op, c.what, bad, re, out)
			}
			if !slices.Equal(before, got.vectors.Params) {
				t.Errorf("%s with %s %d changed params", c.op, c.what, bad)
			}
		}
		b.Bind(got.replica, got.vectors)
		if _, err := got.train(b, steps, 0.05); err != nil {
			t.Fatal(err)
		}
		sameBits(t, b.Graph, got, want)
	}
}

// testNotFinite wants losses and gradient norms that are not finite to stop the run before any
// weight is changed.
func testNotFinite(t *testing.T, e engine.Engine) {
	for _, c := range []struct {
		what, op string
		build    func(b *Builder) *graph.Value
		clip     float32
	}{
		{"loss", "softmax_xent", func(b *Builder) *graph.Value {
			return b.xent(b.Unary(graph.Log, b.dense(b.NormalInput(4, 3), 5)))
		}, 0},
		{"loss", "loss", func(b *Builder) *graph.Value {
			x := b.Unary(graph.Exp, b.Mul(b.Positive(9), b.Scalar(1e3)))
			return b.Loss(x, b.NormalInput(9), graph.LossAttr{Kind: graph.MSE})
		}, 0},
		{"gradient norm", "clip_scale", func(b *Builder) *graph.Value {
			return b.Sum(b.Unary(graph.Sqrt, b.Given(make([]float32, 3), 3)))
		}, 1},
	} {
		b := NewBuilder(c.what + c.op)
		var loss *graph.Value
		b.Scope("net/odd", func() { loss = c.build(b) })
		b.Output("loss", loss)
		if err := b.Train(loss); err != nil {
			t.Fatal(err)
		}
		b.update(rules[0].UpdateAttr, c.clip)
		r := start(t, e, b, b.Graph, engine.Options{})
		before := slices.Clone(r.vectors.Params)
		err := r.replica.Run(engine.All, engine.Step{})
		var re *engine.RunError
		var odd *engine.NonFiniteError
		if !errors.As(err, &re) || !errors.As(err, &odd) || odd.What != c.what || re.Op != c.op {
			t.Errorf("%s of %s: %v", c.what, c.op, err)
			continue
		}
		if c.clip == 0 && re.Path != "net/odd" {
			t.Errorf("%s of %s: the error names the layer %q", c.what, c.op, re.Path)
		}
		if !math.IsNaN(odd.Value) && !math.IsInf(odd.Value, 0) {
			t.Errorf("%s of %s is said to be %v", c.what, c.op, odd.Value)
		}
		if !slices.Equal(before, r.vectors.Params) {
			t.Errorf("%s of %s: params changed", c.what, c.op)
		}
	}
}

// testTrace wants the first place where a number is not finite, and nothing changed by looking.
func testTrace(t *testing.T, e engine.Engine) {
	b := NewBuilder("trace")
	var h *graph.Value
	b.Scope("net/dense1", func() { h = b.relu(b.norm(b.dense(b.NormalInput(6, 5), 4))) })
	b.Scope("net/log", func() { h = b.Unary(graph.Log, b.Add(h, b.Scalar(1))) })
	b.Scope("net/dense2", func() { h = b.dense(h, 3) })
	loss := b.Sum(h)
	b.Output("loss", loss)
	if err := b.Train(loss); err != nil {
		t.Fatal(err)
	}
	b.update(rules[1].UpdateAttr, 1)
	for _, split := range []bool{false, true} {
		r := start(t, e, b, b.Graph, engine.Options{SplitUpdate: split})
		trace := func(change func()) *engine.RunError {
			t.Helper()
			change()
			before := []([]float32){
				slices.Clone(r.vectors.Params), slices.Clone(r.vectors.Grads), slices.Clone(r.vectors.States), slices.Clone(r.vectors.Slots[0]),
			}
			err := r.replica.Trace(engine.Step{})
			for k, now := range [][]float32{r.vectors.Params, r.vectors.Grads, r.vectors.States, r.vectors.Slots[0]} {
				for i := range now {
					if math.Float32bits(now[i]) != math.Float32bits(before[k][i]) {
						t.Errorf("trace changed vector %d", k)
						break
					}
				}
			}
			b.Bind(r.replica, r.vectors)
			if err == nil {
				return nil
			}
			var re *engine.RunError
			var odd *engine.NonFiniteError
			if !errors.As(err, &re) || !errors.As(err, &odd) {
				t.Fatalf("trace: %v", err)
			}
			return re
		}
		if err := trace(func() {}); err != nil {
			t.Errorf("trace of a healthy net: %v", err)
		}
		last := b.Params[len(b.Params)-1].Name
		if err := trace(func() { r.vectors.Param(last)[1] = float32(math.NaN()) }); err == nil || !strings.Contains(err.Error(), last) {
			t.Errorf("trace with NaN in %s: %v", last, err)
		}
		gamma := b.Params[2].Name // a γ so large that the result overflows
		grow := func() {
			for i := range r.vectors.Param(gamma) {
				r.vectors.Param(gamma)[i] = 3e38
			}
		}
		if err := trace(grow); err == nil || err.Path != "net/dense1" {
			t.Errorf("trace with overflow in net/dense1: %v", err)
		}
		sink := func() { // results of −5 for the logarithm
			for i := range r.vectors.Param(b.Params[3].Name) {
				r.vectors.Param(b.Params[3].Name)[i] = -5
			}
		}
		if err := trace(sink); err != nil {
			t.Errorf("trace where ReLU saves the logarithm: %v", err)
		}
		r.step(t, engine.Step{})
	}
}

// testRefusals wants errors for graphs, layouts and vectors that do not fit.
func testRefusals(t *testing.T, e engine.Engine) {
	b := mustTrain(t, nets()[0])
	other := mustTrain(t, nets()[1])
	layout, err := engine.NewLayout(other.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Compile(b.Graph, engine.Options{Layout: layout}); err == nil {
		t.Error("a layout without places for the params was taken")
	}
	p, err := e.Compile(b.Graph, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.NewReplica(layout.NewVectors()); err == nil {
		t.Error("vectors of another model were taken")
	}
	short := p.Layout().NewVectors()
	short.Slots = nil
	if _, err := p.NewReplica(short); err == nil {
		t.Error("vectors without optimiser slots were taken")
	}
	broken := graph.New()
	broken.MatMul(broken.Param("a", 2, 3), broken.Param("b", 2, 3))
	if _, err := e.Compile(broken, engine.Options{}); err == nil {
		t.Error("a graph with an error was compiled")
	}
	r := start(t, e, b, b.Graph, engine.Options{})
	if r.replica.Input("none") != nil || r.replica.Output("none") != nil {
		t.Error("an unknown name has a tensor")
	}
}
