package oracle_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/enginetest"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

// nudges are the steps of the differences, relative to the operand: the second is for the case
// that a kink lies within the first.
var nudges = []float64{1e-5, 1e-7}

// TestGradients compares the gradient of every case, with respect to every param, with central
// differences of the loss, all in float64. This is what says that the rules of the graph
// package are right.
func TestGradients(t *testing.T) {
	for _, c := range enginetest.Cases() {
		if c.NoGrad || c.Kinks {
			continue
		}
		g := lossOnly(t, c)
		if testing.Short() && work(g) > 200_000 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			b, err := enginetest.BuildCase(c)
			if err != nil {
				t.Fatal(err)
			}
			checkGradients(t, b, g, budget()/work(g))
		})
	}
}

// lossOnly is the case without its gradients.
func lossOnly(t *testing.T, c enginetest.Case) *graph.Graph {
	t.Helper()
	c.NoGrad = false
	b := enginetest.NewBuilder(c.Name)
	b.Output("loss", b.Weighted(c.Build(b)))
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	return b.Graph
}

// budget is how much arithmetic a case may cost for each param.
func budget() int {
	if testing.Short() {
		return 20_000
	}
	return 400_000
}

// work estimates what one evaluation of a graph costs.
func work(g *graph.Graph) int {
	n := 1
	for _, node := range g.Nodes {
		n += int(graph.Flops(node)) / 2
		for _, o := range node.Out {
			n += o.Shape().Elems()
		}
	}
	return n
}

func bind(t *testing.T, g *graph.Graph, b *enginetest.Builder) *oracle.Eval {
	t.Helper()
	ev, err := oracle.NewEval(g)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range b.Floats {
		for i, x := range data {
			ev.Floats(name)[i] = float64(x)
		}
	}
	for name, data := range b.Ints {
		copy(ev.Ints(name), data)
	}
	return ev
}

// checkGradients compares 2 to 24 elements of each param's gradient, limit if possible. The loss is the output
// "loss" of g, which has the same params and inputs as b's graph.
func checkGradients(t *testing.T, b *enginetest.Builder, g *graph.Graph, limit int) {
	t.Helper()
	at := engine.Step{Seed: 5, Index: 9}
	whole, ev := bind(t, b.Graph, b), bind(t, g, b)
	if err := whole.Run(at); err != nil {
		t.Fatal(err)
	}
	var out *graph.Value
	for _, o := range g.Outputs {
		if o.Name == "loss" {
			out = o.Value
		}
	}
	loss := func() float64 {
		if err := ev.Run(at); err != nil {
			t.Fatal(err)
		}
		return ev.Of(out)[0]
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, d := range b.Grads {
		grad, x := whole.Of(d.Value), ev.Floats(d.Param.Name)
		top := 1.0
		for _, v := range grad {
			top = math.Max(top, math.Abs(v))
		}
		order := rnd.Perm(len(x))
		for _, i := range order[:min(max(limit, 2), 24, len(order))] {
			slopes := []float64{}
			for _, nudge := range nudges {
				was := x[i]
				h := nudge * math.Max(math.Abs(was), 1)
				x[i] = was + h
				above := loss()
				x[i] = was - h
				below := loss()
				x[i] = was
				slopes = append(slopes, (above-below)/(2*h))
				if math.Abs(grad[i]-slopes[len(slopes)-1]) <= 2e-6*top {
					slopes = nil
					break
				}
			}
			if slopes != nil {
				t.Errorf("gradient of %s, element %d: %v, differences say %v", d.Param.Name, i, grad[i], slopes)
				break
			}
		}
	}
}
