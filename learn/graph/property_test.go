package graph_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/enginetest"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
	"pgregory.net/rapid"
)

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
		g := enginetest.RandomGraph(t).Graph
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
