package enginetest

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

// tremors measures how the outputs and gradients of a graph answer to operands that are wrong
// in the last bit: the largest change of each element over a few random changes of all
// operands. No engine that rounds can be expected to be nearer than that where terms cancel. The
// work is done when the function it returns is called first.
func tremors(t testing.TB, b *Builder, step engine.Step) func() map[*graph.Value][]float64 {
	return sync.OnceValue(func() map[*graph.Value][]float64 { return measureTremors(t, b, step) })
}

func measureTremors(t testing.TB, b *Builder, step engine.Step) map[*graph.Value][]float64 {
	t.Helper()
	ev, err := oracle.NewEval(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	compute := func(shake float64) map[*graph.Value][]float64 {
		for _, name := range slices.Sorted(maps.Keys(b.Floats)) {
			dst := ev.Floats(name)
			for i, x := range b.Floats[name] {
				dst[i] = float64(x) * (1 + shake*(2*rnd.Float64()-1))
			}
		}
		for name, data := range b.Ints {
			copy(ev.Ints(name), data)
		}
		if err := ev.Run(step); err != nil {
			t.Fatal(err)
		}
		out := map[*graph.Value][]float64{}
		for _, o := range b.Outputs {
			out[o.Value] = append([]float64(nil), ev.Of(o.Value)...)
		}
		for _, d := range b.Grads {
			out[d.Value] = append([]float64(nil), ev.Of(d.Value)...)
		}
		return out
	}
	still := compute(0)
	worst := map[*graph.Value][]float64{}
	for range 2 {
		for v, shaken := range compute(unitRoundoff) {
			if worst[v] == nil {
				worst[v] = make([]float64, len(shaken))
			}
			for i, x := range shaken {
				worst[v][i] = math.Max(worst[v][i], math.Abs(x-still[v][i]))
			}
		}
	}
	return worst
}
