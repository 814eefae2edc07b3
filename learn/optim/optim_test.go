package optim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

// descend trains w to be the targets under a squared error, from zeros, and returns the path of
// w over the steps.
func descend(t *testing.T, o Optimizer, targets []float32, steps int, rate float64) [][]float32 {
	t.Helper()
	g := graph.New()
	w := g.Param("w", len(targets))
	d := g.Sub(w, g.Const(targets, len(targets)))
	loss := g.Sum(g.Mul(d, d))
	if err := g.Train(loss); err != nil {
		t.Fatal(err)
	}
	if err := o.Apply(g); err != nil {
		t.Fatal(err)
	}
	if o.Clip > 0 && !slices.ContainsFunc(g.Outputs, func(n graph.Named) bool { return n.Name == "gradient_norm" }) {
		t.Error("clipping gives no gradient norm")
	}
	p, err := oracle.New().Compile(g, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := p.Layout().NewVectors()
	r, err := p.NewReplica(v)
	if err != nil {
		t.Fatal(err)
	}
	var path [][]float32
	for step := range steps {
		Hyper(r.Input(HyperInput).F32(), step, rate)
		if err := r.Run(engine.All, engine.Step{Index: uint64(step)}); err != nil {
			t.Fatal(err)
		}
		path = append(path, slices.Clone(v.Param("w")))
	}
	return path
}

// TestRulesAgainstFormulas computes a few steps of one weight by hand: the gradient of
// (w−3)² is 2(w−3).
func TestRulesAgainstFormulas(t *testing.T) {
	const lr, steps = 0.1, 4
	for name, c := range map[string]struct {
		opt  Optimizer
		rule func(w, g float64, t int, s []float64) float64 // new w; s is what the rule keeps
	}{
		"sgd": {SGD(0), func(w, g float64, _ int, _ []float64) float64 { return w - lr*g }},
		"momentum": {SGD(0.9), func(w, g float64, _ int, s []float64) float64 {
			s[0] = 0.9*s[0] + g
			return w - lr*s[0]
		}},
		"nesterov": {Nesterov(0.9), func(w, g float64, _ int, s []float64) float64 {
			s[0] = 0.9*s[0] + g
			return w - lr*(g+0.9*s[0])
		}},
		"adam": {Adam(), func(w, g float64, t int, s []float64) float64 {
			s[0], s[1] = 0.9*s[0]+0.1*g, 0.999*s[1]+0.001*g*g
			m, v := s[0]/(1-math.Pow(0.9, float64(t))), s[1]/(1-math.Pow(0.999, float64(t)))
			return w - lr*m/(math.Sqrt(v)+1e-8)
		}},
		"adamw": {AdamW(0.5), func(w, g float64, t int, s []float64) float64 {
			w -= lr * 0.5 * w
			s[0], s[1] = 0.9*s[0]+0.1*g, 0.999*s[1]+0.001*g*g
			m, v := s[0]/(1-math.Pow(0.9, float64(t))), s[1]/(1-math.Pow(0.999, float64(t)))
			return w - lr*m/(math.Sqrt(v)+1e-8)
		}},
		"rmsprop": {RMSProp(0), func(w, g float64, _ int, s []float64) float64 {
			s[0] = 0.99*s[0] + 0.01*g*g
			return w - lr*g/(math.Sqrt(s[0])+1e-8)
		}},
		"lars": {LARS(0.9, 0.1), func(w, g float64, _ int, s []float64) float64 {
			r := 1.0
			if w != 0 && g != 0 {
				r = 0.001 * math.Abs(w) / (math.Abs(g) + 0.1*math.Abs(w))
			}
			s[0] = 0.9*s[0] + r*lr*(g+0.1*w)
			return w - s[0]
		}},
		"clipped": {Optimizer{Rule: SGD(0).Rule, Clip: 0.5}, func(w, g float64, _ int, _ []float64) float64 {
			return w - lr*g*min(1, 0.5/math.Abs(g))
		}},
	} {
		w, kept := 0.0, make([]float64, 2)
		for step, got := range descend(t, c.opt, []float32{3}, steps, lr) {
			w = c.rule(w, 2*(w-3), step+1, kept)
			if math.Abs(float64(got[0])-w) > 1e-5*math.Max(1, math.Abs(w)) {
				t.Errorf("%s, step %d: %v, want %v", name, step+1, got[0], w)
				break
			}
		}
	}
}

func TestClipIsOverAllParams(t *testing.T) {
	o := SGD(0)
	o.Clip = 1
	got := descend(t, o, []float32{3, 4}, 1, 1)[0] // gradient (−6, −8), norm 10
	if math.Abs(float64(got[0])-0.6) > 1e-6 || math.Abs(float64(got[1])-0.8) > 1e-6 {
		t.Errorf("got %v, want [0.6 0.8]", got)
	}
}

// TestDecayOfGroups gives two params factors of their own and spares a third.
func TestDecayOfGroups(t *testing.T) {
	g := graph.New()
	loss := g.Sum(g.Mul(g.Mul(g.Param("a", 2), g.Param("b", 2)), g.Param("c", 2)))
	if err := g.Train(loss); err != nil {
		t.Fatal(err)
	}
	o := AdamW(0.1)
	groups := map[string]float64{"a": 0.5, "b": 0.25}
	o.Decay = func(param string) float64 { return groups[param] }
	if err := o.Apply(g); err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, n := range g.Nodes {
		if n.Op == "update" {
			found[n.In[2].Name] = n.Attr.(graph.UpdateAttr).Decay
		}
	}
	if found["a"] != 0.5 || found["b"] != 0.25 || found["c"] != 0 || len(found) != 3 {
		t.Errorf("decays %v", found)
	}
}

func TestByName(t *testing.T) {
	for _, name := range Names() {
		o, err := ByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if path := descend(t, o, []float32{1}, 3, 0.01); path[2][0] <= 0 {
			t.Errorf("%s goes away from the target: %v", name, path)
		}
	}
	if _, err := ByName("adagrad"); err == nil || !strings.Contains(err.Error(), "sgd, momentum") {
		t.Errorf("an unknown optimizer: %v", err)
	}
	if err := SGD(0).Apply(graph.New()); err == nil {
		t.Error("a graph without gradients was given updates")
	}
}

func TestSchedules(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-12+1e-9*math.Abs(want) }
	for _, c := range []struct {
		name     string
		schedule Schedule
		want     map[int]float64
	}{
		{"constant", Constant(0.1), map[int]float64{0: 0.1, 1e9: 0.1}},
		{"steps", Steps(1, 0.1, 10), map[int]float64{0: 1, 9: 1, 10: 0.1, 25: 0.01}},
		{"cosine", Cosine(1, 0.2, 100), map[int]float64{0: 1, 50: 0.6, 100: 0.2, 500: 0.2}},
		{"warm-up", WarmUp(4, Constant(1)), map[int]float64{0: 0.25, 1: 0.5, 3: 1, 4: 1}},
		{"no warm-up", WarmUp(0, Constant(1)), map[int]float64{0: 1}},
		{"one-cycle", OneCycle(1, 100), map[int]float64{0: 0.04, 15: 0.52, 30: 1, 65: (1 + 4e-6) / 2, 100: 4e-6, 200: 4e-6}},
		{"one-cycle of one step", OneCycle(1, 1), map[int]float64{0: 0.04, 1: 1}},
		{"cosine of no steps", Cosine(1, 0, 0), map[int]float64{0: 1, 1: 0}},
	} {
		for step, want := range c.want {
			if got := c.schedule(step); !near(got, want) {
				t.Errorf("%s: step %d has the rate %v, want %v", c.name, step, got, want)
			}
		}
	}
}

func ExampleOneCycle() {
	rate := OneCycle(0.01, 1000)
	for _, step := range []int{0, 300, 650, 999} {
		fmt.Printf("%d: %.5f\n", step, rate(step))
	}
	// Output:
	// 0: 0.00040
	// 300: 0.01000
	// 650: 0.00500
	// 999: 0.00000
}
