package enginetest

import (
	"fmt"
	"math"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// unitRoundoff is half the distance from 1 to the next float32.
const unitRoundoff = 0x1p-24

// bound says how far a tensor may be from the right one: tol times the largest right element
// (each element by itself if relative), and what rounding of the operands already does to it.
type bound struct {
	tol      float64
	relative bool
	cancels  float64   // size of terms that cancel, see Case
	tremor   []float64 // for each element, see tremors; nil for none
}

// boundFor a value that is made of n added numbers.
func boundFor(n int, relative bool, tremor []float64) bound {
	return bound{8 * unitRoundoff * math.Sqrt(float64(n)+16), relative, 0, tremor}
}

// at is the bound of element i, right being its value and top the largest.
func (b bound) at(i int, right, top float64) float64 {
	if b.relative {
		top = math.Abs(right)
	}
	limit := b.tol*max(top, b.cancels) + tiny
	if b.tremor != nil {
		limit += 16 * b.tremor[i]
	}
	return limit
}

// tiny is added to every bound: what is smaller than a normal number may be flushed to 0.
const tiny = 0x1p-126

// differ describes the worst element of got that lies outside the bound around want, "" when
// there is none. NaN matches NaN only, an infinity only the same one.
func differ(got, want []float32, b bound) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d elements, want %d", len(got), len(want))
	}
	top := 0.0
	for _, w := range want {
		if x := math.Abs(float64(w)); x > top && !math.IsInf(x, 0) {
			top = x
		}
	}
	worst, message := 0.0, ""
	for i, w := range want {
		g, w := float64(got[i]), float64(w)
		excess := math.Inf(1)
		switch {
		case g == w || math.IsNaN(g) && math.IsNaN(w):
			continue
		case !math.IsNaN(g) && !math.IsNaN(w) && !math.IsInf(g, 0) && !math.IsInf(w, 0):
			excess = math.Abs(g-w) / b.at(i, w, top)
		}
		if excess > 1 && excess > worst {
			worst, message = excess, fmt.Sprintf("element %d is %v, want %v: %.3g times the bound", i, got[i], want[i], excess)
		}
	}
	return message
}

// run is a compiled graph with its memory, bound to a builder's numbers.
type run struct {
	program engine.Program
	replica engine.Replica
	vectors *engine.Vectors
}

// start compiles the graph and binds the numbers.
func start(t testing.TB, e engine.Engine, b *Builder, g *graph.Graph, opt engine.Options) *run {
	t.Helper()
	p, err := e.Compile(g, opt)
	if err != nil {
		t.Fatalf("%s: compile: %v", e.Name(), err)
	}
	v := p.Layout().NewVectors()
	r, err := p.NewReplica(v)
	if err != nil {
		t.Fatalf("%s: replica: %v", e.Name(), err)
	}
	b.Bind(r, v)
	return &run{p, r, v}
}

// step runs everything once.
func (r *run) step(t testing.TB, s engine.Step) {
	t.Helper()
	if err := r.replica.Run(engine.All, s); err != nil {
		t.Fatalf("run: %v", err)
	}
}

// tolerance says how closely two runs are compared.
type tolerance struct {
	relative bool                              // outputs: each element by itself
	slack    float64                           // factor on the bounds that follow from the terms; 0 means 1
	cancels  float64                           // size of terms that cancel, see Case
	tremors  func() map[*graph.Value][]float64 // called where the other bounds are too narrow; nil for never

	noGradients bool // the gradient vector is not compared
}

// same compares outputs, gradients, params, states and slots of two runs of the graph g.
func same(t testing.TB, g *graph.Graph, got, want *run, tol tolerance) {
	t.Helper()
	n := terms(g)
	check := func(what string, v *graph.Value, relative bool, cancels float64, got, want []float32) {
		t.Helper()
		b := boundFor(n[v], relative, nil)
		b.cancels = cancels
		if tol.slack > 0 {
			b.tol *= tol.slack
		}
		msg := differ(got, want, b)
		if msg != "" && tol.tremors != nil {
			b.tremor = tol.tremors()[v]
			msg = differ(got, want, b)
		}
		if msg != "" {
			t.Errorf("%s: %s (%d terms)", what, msg, n[v])
		}
	}
	for _, o := range g.Outputs {
		if o.Value.Spec.DType == tensor.Float32 {
			check("output "+o.Name, o.Value, tol.relative, tol.cancels, got.replica.Output(o.Name).F32(), want.replica.Output(o.Name).F32())
		}
	}
	for _, d := range g.Grads {
		name := d.Param.Name
		n[d.Param] = n[d.Value]
		if tol.noGradients {
			continue
		}
		check("gradient of "+name, d.Value, false, tol.cancels, got.vectors.Grad(name), want.vectors.Grad(name))
	}
	for _, p := range g.Params {
		check("param "+p.Name, p, false, 0, got.vectors.Param(p.Name), want.vectors.Param(p.Name))
	}
	for _, s := range g.Slots {
		check("slot "+s.Name, s.SlotOf, false, tol.cancels, got.vectors.Slot(s.Slot, s.SlotOf.Name), want.vectors.Slot(s.Slot, s.SlotOf.Name))
	}
	most := 0
	for _, c := range n {
		most = max(most, c)
	}
	for _, s := range g.States {
		n[s] = most
		check("state "+s.Name, s, false, 0, got.vectors.State(s.Name), want.vectors.State(s.Name))
	}
}

// sameBits reports the first float32 of which two runs hold different bits.
func sameBits(t testing.TB, g *graph.Graph, a, b *run) {
	t.Helper()
	check := func(what string, x, y []float32) {
		t.Helper()
		for i := range x {
			if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
				t.Errorf("%s: element %d is %v in one run and %v in the other", what, i, x[i], y[i])
				return
			}
		}
	}
	for _, o := range g.Outputs {
		if o.Value.Spec.DType == tensor.Float32 {
			check("output "+o.Name, a.replica.Output(o.Name).F32(), b.replica.Output(o.Name).F32())
		}
	}
	check("params", a.vectors.Params, b.vectors.Params)
	check("gradients", a.vectors.Grads, b.vectors.Grads)
	check("states", a.vectors.States, b.vectors.States)
	for k := range a.vectors.Slots {
		check(fmt.Sprintf("slot vector %d", k), a.vectors.Slots[k], b.vectors.Slots[k])
	}
}
