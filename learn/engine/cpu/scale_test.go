package cpu

import (
	"testing"
	"time"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/optim"
)

// residual builds n residual blocks and the gradients and updates of their weights.
func residual(t *testing.T, n int) *graph.Graph {
	t.Helper()
	g := graph.New()
	x := g.Input("x", graph.F32(4, 8))
	h := x
	for i := range n {
		name := "block" + string(rune('a'+i%26)) + time.Duration(i).String()
		w := g.Param(name+"/w", 8, 8)
		b := g.Param(name+"/b", 8)
		h = g.Add(h, g.Unary(graph.Relu, g.Add(g.MatMul(h, w), b)))
	}
	loss := g.Mean(g.Unary(graph.Square, h))
	g.Output("loss", loss)
	if err := g.Train(loss); err != nil {
		t.Fatal(err)
	}
	if err := optim.SGD(0.9).Apply(g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestDeepGraphCompiles compiles a thousand residual blocks; work that grew with the square of
// their number would make this test visibly slow.
func TestDeepGraphCompiles(t *testing.T) {
	e, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, n := range []int{10, 100, 1000} {
		start := time.Now()
		p, err := e.Compile(residual(t, n), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.NewReplica(p.Layout().NewVectors())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(engine.All, engine.Step{}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d blocks: %d ops in %v", n, len(p.Ops()), time.Since(start))
	}
}
