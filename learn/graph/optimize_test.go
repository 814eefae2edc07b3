package graph_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

var rewriteSpec = flag.Bool("rewrite", false, "rewrite testdata/optimize.txt from what Optimize does")

const specFile = "testdata/optimize.txt"

// example is a graph that shows what a pass does.
type example struct {
	name  string
	build func(g *graph.Graph)
}

// square makes a value that no pass removes, as something to start from.
func square(g *graph.Graph, v *graph.Value) *graph.Value { return g.Unary(graph.Square, v) }

func window(stride, pad int) graph.Window {
	return graph.Window{Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}, Pad: [4]int{pad, pad, pad, pad}}
}

// norm applies batch norm with params and statistics of the given name.
func norm(g *graph.Graph, name, op string, x *graph.Value) *graph.Value {
	c := x.Shape().Last()
	return g.Apply(op, graph.NormAttr{Eps: 1e-5, Momentum: 0.1}, x, g.Param(name+".g", c), g.Param(name+".b", c),
		g.State(name+".m", c), g.State(name+".v", c))[0]
}

// train makes "loss" of the sum of v's squares and every param's gradient.
func train(g *graph.Graph, v *graph.Value) {
	loss := g.Sum(square(g, v))
	g.Output("loss", loss)
	if err := g.Train(loss); err != nil {
		g.Fail(err)
	}
}

var examples = []example{
	{"neutral operands", func(g *graph.Graph) {
		x := g.Param("x", 2, 3)
		y := g.Mul(g.Add(x, g.Scalar(0)), g.Const([]float32{1, 1, 1}, 3))
		g.Output("y", square(g, g.Div(g.Sub(y, g.Scalar(0)), g.Scalar(1))))
	}},
	{"a neutral operand that stretches the result stays", func(g *graph.Graph) {
		g.Output("y", g.Add(g.Param("x", 3), g.Const(make([]float32, 6), 2, 3)))
	}},
	{"negations", func(g *graph.Graph) {
		x, y := g.Param("x", 3), g.Param("y", 3)
		g.Output("a", g.Add(x, g.Unary(graph.Neg, y)))
		g.Output("b", g.Sub(x, g.Unary(graph.Neg, y)))
		g.Output("c", g.Unary(graph.Neg, g.Unary(graph.Neg, square(g, x))))
		g.Output("d", g.Sub(g.Scalar(0), square(g, y)))
	}},
	{"relu of relu", func(g *graph.Graph) {
		g.Output("y", g.Unary(graph.Relu, g.Unary(graph.Relu, g.Param("x", 3))))
	}},
	{"reshapes", func(g *graph.Graph) {
		x := square(g, g.Param("x", 2, 6))
		g.Output("y", square(g, g.Reshape(g.Reshape(g.Reshape(x, 3, 4), 12), 2, 6)))
		g.Output("z", g.Reshape(g.Reshape(x, 3, 4), 12))
	}},
	{"transposes", func(g *graph.Graph) {
		x := square(g, g.Param("x", 2, 1, 3))
		g.Output("there and back", g.Transpose(g.Transpose(x, 2, 0, 1), 1, 2, 0))
		g.Output("only ones move", g.Transpose(x, 1, 0, 2))
		g.Output("two in one", g.Transpose(g.Transpose(x, 2, 1, 0), 1, 0, 2))
	}},
	{"transpose into product", func(g *graph.Graph) {
		x, w := g.Param("x", 4, 2), g.Param("w", 3, 4)
		g.Output("y", g.MatMul(g.Transpose(x, 1, 0), g.Transpose(w, 1, 0)))
	}},
	{"slices and pads", func(g *graph.Graph) {
		x := square(g, g.Param("x", 8))
		g.Output("slice", g.Slice(g.Slice(x, []int{1}, []int{7}), []int{2}, []int{5}))
		g.Output("pad", g.Pad(g.Pad(x, []int{1}, []int{0}), []int{2}, []int{3}))
		g.Output("none", g.Pad(g.Slice(x, []int{0}, []int{8}), []int{0}, []int{0}))
	}},
	{"reductions of nothing", func(g *graph.Graph) {
		x := square(g, g.Param("x", 3, 1))
		g.Output("no axes", g.Reduce(graph.RSum, x))
		g.Output("axis of one", g.Reduce(graph.RMax, x, 1))
	}},
	{"broadcast left to the operation", func(g *graph.Graph) {
		x, y := g.Param("x", 2, 3), g.Param("y", 3)
		g.Output("y", g.Mul(x, g.Broadcast(y, 2, 3)))
	}},
	{"casts", func(g *graph.Graph) {
		x := g.Cast(g.Param("x", 3), tensor.BFloat16)
		g.Output("y", g.Cast(g.Cast(x, tensor.Float32), tensor.BFloat16))
	}},
	{"dropout of nothing, concat of one", func(g *graph.Graph) {
		g.Output("y", square(g, g.Concat(0, g.Dropout(g.Param("x", 3), graph.DropoutAttr{}))))
	}},
	{"constants", func(g *graph.Graph) {
		c := g.Mul(g.Scalar(2), g.Add(g.Scalar(3), g.Unary(graph.Neg, g.Scalar(1))))
		g.Output("y", g.Mul(g.Param("x", 2, 2), g.Reshape(c, 1, 1)))
	}},
	{"equal expressions", func(g *graph.Graph) {
		x, y := g.Param("x", 2, 2), g.Param("y", 2, 2)
		g.Output("y", g.Add(g.MatMul(x, y), g.Unary(graph.Exp, g.MatMul(x, y))))
	}},
	{"two dropouts stay two", func(g *graph.Graph) {
		x := g.Param("x", 3)
		a := graph.DropoutAttr{Rate: 0.5}
		g.Output("y", g.Add(g.Dropout(x, a), g.Dropout(x, a)))
	}},
	{"dead code; inputs, params and states stay", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(3))
		g.Input("unused input", graph.F32(1))
		g.Param("unused param", 1)
		g.State("unused state", 1)
		g.Unary(graph.Exp, x)
		g.Output("y", square(g, x))
	}},
	{"bias, relu", func(g *graph.Graph) {
		y := g.MatMul(g.Input("x", graph.F32(4, 2)), g.Param("w", 2, 3))
		g.Output("y", g.Unary(graph.Relu, g.Add(y, g.Param("b", 3))))
	}},
	{"bias, residual, relu", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(1, 4, 4, 2))
		y := g.Add(g.Conv2D(x, g.Param("w", 3, 3, 2, 2), window(1, 1), 1), g.Param("b", 2))
		g.Output("y", g.Unary(graph.Relu, g.Add(x, y)))
	}},
	{"residual made later: the product moves down", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(2, 2))
		y := g.MatMul(x, g.Param("w", 2, 2))
		z := g.Unary(graph.Exp, x)
		g.Output("y", g.Add(y, z))
	}},
	{"no fusion where the product is used otherwise", func(g *graph.Graph) {
		y := g.MatMul(g.Input("x", graph.F32(4, 2)), g.Param("w", 2, 3))
		g.Output("product", y)
		g.Output("y", g.Unary(graph.Relu, y))
	}},
	{"no bias behind a residual", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(4, 3))
		y := g.Add(g.MatMul(x, g.Param("w", 3, 3)), x)
		g.Output("y", g.Add(y, g.Param("b", 3)))
	}},
	{"add, relu", func(g *graph.Graph) {
		g.Output("y", g.Unary(graph.Relu, g.Add(g.Param("a", 3), g.Param("b", 3))))
	}},
	{"product over more than two axes", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(2, 5, 4))
		y := g.Reshape(g.MatMul(g.Reshape(x, 10, 4), g.Param("w", 4, 4)), 2, 5, 4)
		g.Output("y", g.Unary(graph.Relu, g.Add(x, g.Add(y, g.Param("b", 4)))))
	}},
	{"inference batch norm into the filter", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(2, 8, 8, 1))
		y := g.Conv2D(x, g.Param("w", 3, 3, 1, 2), window(1, 1), 1)
		g.Output("y", g.Unary(graph.Relu, norm(g, "n", "batch_norm_infer", y)))
	}},
	{"a filter larger than the result stays", func(g *graph.Graph) {
		y := g.MatMul(g.Input("x", graph.F32(1, 9)), g.Param("w", 9, 2))
		g.Output("y", norm(g, "n", "batch_norm_infer", y))
	}},
	{"dense layer, trained", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(4, 2))
		h := g.Unary(graph.Relu, g.Add(g.MatMul(x, g.Param("w1", 2, 3)), g.Param("b1", 3)))
		train(g, g.MatMul(h, g.Param("w2", 3, 1)))
	}},
	{"convolution, relu, pool, trained: the mask is taken at the pooled size", func(g *graph.Graph) {
		x := g.Input("x", graph.F32(1, 4, 4, 1))
		h := g.Unary(graph.Relu, g.Add(g.Conv2D(x, g.Param("w", 3, 3, 1, 2), window(1, 1), 1), g.Param("b", 2)))
		h = g.MaxPool(h, [2]int{2, 2}, window(2, 0))
		train(g, g.MatMul(g.Reshape(h, 1, 8), g.Param("v", 8, 1)))
	}},
	{"relu and dropout, trained", func(g *graph.Graph) {
		h := g.Unary(graph.Relu, g.MatMul(g.Input("x", graph.F32(4, 2)), g.Param("w", 2, 3)))
		h = g.Dropout(h, graph.DropoutAttr{Rate: 0.5, Stream: 1})
		train(g, g.MatMul(h, g.Param("v", 3, 1)))
	}},
	{"batch norm and relu before a mean, trained: the norm's gradient takes the mask", func(g *graph.Graph) {
		h := g.MatMul(g.Input("x", graph.F32(4, 2)), g.Param("w", 2, 3))
		h = g.Unary(graph.Relu, norm(g, "n", "batch_norm", h))
		train(g, g.Mean(h, 0))
	}},
	{"residual block with batch norm, trained", func(g *graph.Graph) {
		x := g.Unary(graph.Relu, g.Conv2D(g.Input("x", graph.F32(1, 4, 4, 2)), g.Param("w0", 1, 1, 2, 2), window(1, 0), 1))
		h := g.Unary(graph.Relu, norm(g, "n1", "batch_norm", g.Conv2D(x, g.Param("w1", 3, 3, 2, 2), window(1, 1), 1)))
		h = norm(g, "n2", "batch_norm", g.Conv2D(h, g.Param("w2", 3, 3, 2, 2), window(1, 1), 1))
		train(g, g.Unary(graph.Relu, g.Add(h, x)))
	}},
}

// TestOptimizeSpec compares what Optimize makes of each example with testdata/optimize.txt,
// which is written to be read: the graph before, and the graph after.
func TestOptimizeSpec(t *testing.T) {
	var b strings.Builder
	for _, e := range examples {
		g := graph.New()
		e.build(g)
		if err := g.Err(); err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		before := g.String()
		o, err := graph.Optimize(g)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if err := o.Check(); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
		if g.String() != before {
			t.Errorf("%s: Optimize changed its argument", e.name)
		}
		fmt.Fprintf(&b, "=== %s\n%s--- becomes\n%s\n", e.name, before, o)
	}
	if *rewriteSpec {
		if err := os.WriteFile(specFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(specFile)
	if err != nil {
		t.Fatal(err)
	}
	got, expected := strings.Split(b.String(), "=== "), strings.Split(string(want), "=== ")
	if len(got) != len(expected) {
		t.Fatalf("%d examples, %s has %d", len(got)-1, specFile, len(expected)-1)
	}
	for i := range got {
		if got[i] != expected[i] {
			t.Errorf("got:\n%s\nwant:\n%s", got[i], expected[i])
		}
	}
}
