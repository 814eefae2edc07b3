package enginetest

import (
	"fmt"
	"math"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

// rules lists optimisers, each with a bound on the gradients' norm or 0.
var rules = []struct {
	graph.UpdateAttr
	clip float32
}{
	{graph.UpdateAttr{Kind: graph.SGD}, 0},
	{graph.UpdateAttr{Kind: graph.SGD, Momentum: 0.9, Decay: 1e-3}, 0.5},
	{graph.UpdateAttr{Kind: graph.SGD, Momentum: 0.8, Nesterov: true, Decay: 1e-3}, 0},
	{graph.UpdateAttr{Kind: graph.Adam, Beta1: 0.9, Beta2: 0.999, Eps: 1e-3, Decay: 1e-2}, 0},
	{graph.UpdateAttr{Kind: graph.Adam, Beta1: 0.8, Beta2: 0.99, Eps: 1e-3, Decay: 1e-2, Decoupled: true}, 1e6},
	{graph.UpdateAttr{Kind: graph.RMSProp, Beta2: 0.9, Eps: 1e-2}, 0},
	{graph.UpdateAttr{Kind: graph.RMSProp, Beta2: 0.9, Eps: 1e-2, Momentum: 0.5, Decay: 1e-3}, 0},
	{graph.UpdateAttr{Kind: graph.LARS, Momentum: 0.9, Decay: 1e-3, Trust: 0.02}, 0},
}

// testUpdates compares single updates by each rule over a few steps, the gradient being given.
func testUpdates(t *testing.T, e engine.Engine) {
	for _, rule := range rules {
		for _, size := range []int{1, 19, 1000, 70001} {
			t.Run(fmt.Sprintf("%+v/%d", rule, size), func(t *testing.T) {
				b := NewBuilder("update")
				loss := b.Sum(b.Mul(b.Normal(size), b.NormalInput(size)))
				b.Output("loss", loss)
				if err := b.Train(loss); err != nil {
					t.Fatal(err)
				}
				b.update(rule.UpdateAttr, rule.clip)
				compareTraining(t, e, b, 3, 1e-5)
			})
		}
	}
}

// testZeroNorm trains a param of zeros, where LARS' ratio is 1, and norms of 0 are divided by.
func testZeroNorm(t *testing.T, e engine.Engine) {
	b := NewBuilder("zero norm")
	w := b.Given(make([]float32, 5), 5)
	loss := b.Sum(b.Add(b.Mul(w, b.NormalInput(5)), b.Mul(b.Given(make([]float32, 5), 5), b.Scalar(0))))
	b.Output("loss", loss)
	if err := b.Train(loss); err != nil {
		t.Fatal(err)
	}
	b.update(rules[len(rules)-1].UpdateAttr, 1)
	compareTraining(t, e, b, 2, 1e-5)
}

// compareTraining compares losses, params and slots after some steps; far is the bound relative
// to the largest number of each vector.
func compareTraining(t *testing.T, e engine.Engine, b *Builder, steps int, far float64) {
	t.Helper()
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	want, got := start(t, oracle.New(), b, b.Graph, engine.Options{}), start(t, e, b, b.Graph, engine.Options{})
	wantLoss, err := want.train(b, steps, 0.02)
	if err != nil {
		t.Fatal(err)
	}
	gotLoss, err := got.train(b, steps, 0.02)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range wantLoss {
		if math.Abs(gotLoss[i]-w) > far*math.Max(math.Abs(w), 1) {
			t.Errorf("loss of step %d is %v, want %v", i, gotLoss[i], w)
		}
	}
	near := bound{tol: far}
	for _, p := range b.Params {
		if msg := differ(got.vectors.Param(p.Name), want.vectors.Param(p.Name), near); msg != "" {
			t.Errorf("param %s after %d steps: %s", p.Name, steps, msg)
		}
	}
	for _, s := range b.Slots {
		if msg := differ(got.vectors.Slot(s.Slot, s.SlotOf.Name), want.vectors.Slot(s.Slot, s.SlotOf.Name), near); msg != "" {
			t.Errorf("slot %s after %d steps: %s", s.Name, steps, msg)
		}
	}
	for _, s := range b.States {
		if msg := differ(got.vectors.State(s.Name), want.vectors.State(s.Name), near); msg != "" {
			t.Errorf("state %s after %d steps: %s", s.Name, steps, msg)
		}
	}
}

// testNets compares whole nets: one step in all detail, and several steps by each rule.
func testNets(t *testing.T, e engine.Engine) {
	for _, n := range nets() {
		t.Run(n.name, func(t *testing.T) {
			testNetStep(t, e, n)
			for _, rule := range rules {
				b, err := n.trained(rule.UpdateAttr, rule.clip)
				if err != nil {
					t.Fatal(err)
				}
				compareTraining(t, e, b, 4, 1e-3)
			}
		})
	}
}

// testNetStep compares one step of the graph as it is, and of the optimised graph.
func testNetStep(t *testing.T, e engine.Engine, n net) {
	t.Helper()
	b, err := n.trained(rules[1].UpdateAttr, rules[1].clip)
	if err != nil {
		t.Fatal(err)
	}
	optimised, err := graph.Optimize(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := engine.NewLayout(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	step := engine.Step{Seed: 3}
	want := start(t, oracle.New(), b, b.Graph, engine.Options{Layout: layout})
	want.step(t, step)
	tol := tolerance{slack: 2, tremors: tremors(t, b, step)}
	for _, g := range []*graph.Graph{b.Graph, optimised} {
		got := start(t, e, b, g, engine.Options{Layout: layout})
		got.step(t, step)
		same(t, b.Graph, got, want, tol)
	}
}
