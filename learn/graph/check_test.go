package graph_test

import (
	"slices"
	"strings"
	"testing"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// TestCheckFindsBrokenGraphs damages a good graph in one way after the other.
func TestCheckFindsBrokenGraphs(t *testing.T) {
	find := func(g *graph.Graph, op string) *graph.Node {
		for _, n := range g.Nodes {
			if n.Op == op {
				return n
			}
		}
		t.Fatalf("no %s", op)
		return nil
	}
	swap := func(g *graph.Graph, i, j int) {
		g.Nodes[i], g.Nodes[j] = g.Nodes[j], g.Nodes[i]
		g.Nodes[i].ID, g.Nodes[j].ID = i, j
	}
	for _, c := range []struct {
		name, want string
		damage     func(g *graph.Graph)
	}{
		{"wrong number", "carries the number", func(g *graph.Graph) { g.Nodes[3].ID = 7 }},
		{"unknown operation", "unknown operation", func(g *graph.Graph) { find(g, "matmul").Op = "matmull" }},
		{"use before making", "before it is made", func(g *graph.Graph) { swap(g, find(g, "matmul").ID, find(g, "reduce").ID) }},
		{"wrong shape", "wants f32[4 3]", func(g *graph.Graph) { find(g, "matmul").Out[0].Spec = graph.F32(9, 9) }},
		{"missing output", "outputs", func(g *graph.Graph) { find(g, "matmul").Out = nil }},
		{"operand that does not fit", "inner sizes", func(g *graph.Graph) {
			n := find(g, "matmul")
			n.In = []*graph.Value{n.In[1], n.In[0]}
		}},
		{"value of another node", "does not belong", func(g *graph.Graph) { find(g, "reduce").Out[0].Node = g.Nodes[0] }},
		{"value made twice", "does not belong", func(g *graph.Graph) {
			n := find(g, "unary")
			n.Out = find(g, "binary").Out
		}},
		{"reading what was overwritten", "overwritten", func(g *graph.Graph) {
			w, _ := g.Lookup("w2")
			g.Output("late", g.Unary(graph.Exp, w))
		}},
		{"overwriting an input", "neither param nor state", func(g *graph.Graph) {
			n := find(g, "update")
			n.In = slices.Clone(n.In)
			n.In[4] = g.Input("fresh", n.In[2].Spec)
			g.Nodes = append(g.Nodes, n) // behind the new input
			g.Nodes = slices.Delete(g.Nodes, n.ID, n.ID+1)
			for i, m := range g.Nodes {
				m.ID = i
			}
		}},
		{"output from nowhere", "is not computed", func(g *graph.Graph) {
			g.Outputs[0].Value = &graph.Value{Spec: graph.F32(), Node: g.Nodes[0]}
		}},
		{"gradient of another shape", "gradient of", func(g *graph.Graph) { g.Grads[0].Value = g.Grads[1].Value }},
		{"operation without operands", "matrices", func(g *graph.Graph) { find(g, "matmul").In = nil }},
	} {
		g := twoLayers(t, false, func(*graph.Graph) {})
		c.damage(g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestShapeErrors wants the layer's path, the operation and the operands in every message, and
// silence after the first error.
func TestShapeErrors(t *testing.T) {
	i32 := graph.Spec{DType: tensor.Int32, Shape: tensor.Shape{4}}
	for _, c := range []struct {
		name string
		f    func(g *graph.Graph)
		want []string
	}{
		{"inner sizes", func(g *graph.Graph) { g.MatMul(g.Param("a", 2, 3), g.Param("b", 4, 5)) }, []string{"matmul", "f32[2 3]", "f32[4 5]", "inner sizes differ: 3 and 4"}},
		{"broadcast", func(g *graph.Graph) { g.Add(g.Param("a", 2, 3), g.Param("b", 2)) }, []string{"binary", "do not broadcast"}},
		{"channels", func(g *graph.Graph) {
			g.Conv2D(g.Param("x", 1, 5, 5, 3), g.Param("w", 3, 3, 4, 8), graph.Unit(), 1)
		}, []string{"conv2d", "3 channels"}},
		{"groups", func(g *graph.Graph) {
			g.Conv2D(g.Param("x", 1, 5, 5, 3), g.Param("w", 3, 3, 1, 8), graph.Unit(), 2)
		}, []string{"2 groups do not divide"}},
		{"window", func(g *graph.Graph) {
			g.Conv2D(g.Param("x", 1, 2, 5, 1), g.Param("w", 3, 3, 1, 8), graph.Unit(), 1)
		}, []string{"rows", "does not fit"}},
		{"stride", func(g *graph.Graph) {
			g.Conv2D(g.Param("x", 1, 5, 5, 1), g.Param("w", 3, 3, 1, 8), graph.Window{}, 1)
		}, []string{"stride"}},
		{"huge padding", func(g *graph.Graph) {
			w := graph.Unit()
			w.Pad[0] = 1 << 40
			g.Conv2D(g.Param("x", 1, 5, 5, 1), g.Param("w", 3, 3, 1, 8), w, 1)
		}, []string{"absurdly large"}},
		{"overflow", func(g *graph.Graph) { g.MatMul(g.Param("a", 1<<20, 1), g.Param("b", 1, 1<<20)) }, []string{"more than"}},
		{"labels", func(g *graph.Graph) { g.SoftmaxXent(g.Param("a", 3, 2), g.Input("l", i32), graph.XentAttr{}) }, []string{"labels do not match"}},
		{"one row", func(g *graph.Graph) { norm(g, "n", "batch_norm", g.Param("a", 1, 3)) }, []string{"at least two values"}},
		{"epsilon", func(g *graph.Graph) {
			g.Apply("layer_norm", graph.NormAttr{}, g.Param("a", 2, 3), g.Param("g", 3), g.Param("b", 3))
		}, []string{"epsilon"}},
		{"layer norm with activation", func(g *graph.Graph) {
			g.Apply("layer_norm", graph.NormAttr{Eps: 1, Act: graph.ReLU}, g.Param("a", 2, 3), g.Param("g", 3), g.Param("b", 3))
		}, []string{"no activation"}},
		{"permutation", func(g *graph.Graph) { g.Transpose(g.Param("a", 2, 3), 0, 0) }, []string{"no permutation"}},
		{"reshape", func(g *graph.Graph) { g.Reshape(g.Param("a", 2, 3), 4) }, []string{"6 elements"}},
		{"slice", func(g *graph.Graph) { g.Slice(g.Param("a", 3), []int{2}, []int{4}) }, []string{"outside axis 0"}},
		{"concat", func(g *graph.Graph) { g.Concat(0, g.Param("a", 2, 3), g.Param("b", 2, 4)) }, []string{"differs in axis 1"}},
		{"mean of nothing", func(g *graph.Graph) { g.Mean(g.Param("a", 0, 3), 0) }, []string{"empty axis"}},
		{"rate", func(g *graph.Graph) { g.Dropout(g.Param("a", 3), graph.DropoutAttr{Rate: 1}) }, []string{"rate 1"}},
		{"slope", func(g *graph.Graph) { g.Leaky(-1, g.Param("a", 3)) }, []string{"slope -1"}},
		{"function", func(g *graph.Graph) { g.Unary("sinus", g.Param("a", 3)) }, []string{"unknown function"}},
		{"window too large for taps", func(g *graph.Graph) { g.MaxPool(g.Param("a", 1, 20, 20, 1), [2]int{16, 16}, graph.Unit()) }, []string{"larger than 255"}},
		{"padding as large as window", func(g *graph.Graph) {
			g.MaxPool(g.Param("a", 1, 8, 8, 1), [2]int{2, 2}, graph.Window{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Pad: [4]int{2, 0, 0, 0}})
		}, []string{"as large as the window"}},
	} {
		g := graph.New()
		g.Scope("net", func() { g.Scope("layer", func() { c.f(g) }) })
		err := g.Err()
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, part := range append(c.want, "net/layer") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q lacks %q", c.name, err, part)
			}
		}
		if bad, ok := err.(interface{ BadInput() bool }); !ok || !bad.BadInput() {
			t.Errorf("%s: %v is not marked as bad input", c.name, err)
		}
		g.Unary(graph.Exp, g.MatMul(g.Param("p", 2, 2), g.Param("q", 7, 7)))
		if g.Err() != err {
			t.Errorf("%s: the error changed to %v", c.name, g.Err())
		}
		if _, err := graph.Optimize(g); err == nil {
			t.Errorf("%s: a broken graph was optimised", c.name)
		}
	}
}

func TestNames(t *testing.T) {
	g := graph.New()
	if p, q := g.Param("w", 2), g.Param("w", 2); p != q || g.Err() != nil || len(g.Params) != 1 {
		t.Error("asking again for a param must give the same one")
	}
	for name, f := range map[string]func(g *graph.Graph){
		"other shape": func(g *graph.Graph) { g.Param("w", 2); g.Param("w", 3) },
		"other kind":  func(g *graph.Graph) { g.Param("w", 2); g.State("w", 2) },
		"two inputs":  func(g *graph.Graph) { g.Input("x", graph.F32(2)); g.Input("x", graph.F32(2)) },
		"no name":     func(g *graph.Graph) { g.Input("", graph.F32(2)) },
		"two outputs": func(g *graph.Graph) { g.Output("y", g.Param("w", 2)); g.Output("y", g.Param("w", 2)) },
		"constant":    func(g *graph.Graph) { g.Const([]float32{1, 2}, 3) },
		"dimensions":  func(g *graph.Graph) { g.Param("w", 1<<40, 1<<40) },
		"negative":    func(g *graph.Graph) { g.Param("w", -1) },
	} {
		g := graph.New()
		f(g)
		if g.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestGradientErrors(t *testing.T) {
	for name, f := range map[string]func(g *graph.Graph) *graph.Value{
		"not a scalar":         func(g *graph.Graph) *graph.Value { return g.Param("x", 2) },
		"reduce max":           func(g *graph.Graph) *graph.Value { return g.Reduce(graph.RMax, g.Param("x", 2), 0) },
		"gradient of gradient": func(g *graph.Graph) *graph.Value { return second(g) },
		"second result": func(g *graph.Graph) *graph.Value {
			x := g.Param("x", 2, 3)
			return g.Sum(g.Apply("layer_norm", graph.NormAttr{Eps: 1}, x, g.Param("g", 3), g.Param("b", 3))[1])
		},
	} {
		g := graph.New()
		if err := g.Train(f(g)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// second is a loss that is made of a gradient without a gradient of its own.
func second(g *graph.Graph) *graph.Value {
	x := g.Param("x", 3)
	d, err := g.Gradients(g.Sum(g.Unary(graph.Tanh, x)), []*graph.Value{x})
	if err != nil {
		g.Fail(err)
	}
	return g.Sum(d[0])
}
