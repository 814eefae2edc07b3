package enginetest

import (
	"fmt"
	"testing"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
)

// BuildCase makes the case's graph: every result is an output y0, y1, …, and all params get the
// gradient of a weighted sum of the results.
func BuildCase(c Case) (*Builder, error) {
	b := NewBuilder(c.Name)
	var results []*graph.Value
	b.Scope(c.Name, func() { results = c.Build(b) })
	for k, v := range results {
		b.Output(fmt.Sprintf("y%d", k), v)
	}
	if !c.NoGrad {
		loss := b.Weighted(results)
		b.Output("loss", loss)
		if err := b.Train(loss); err != nil {
			return nil, err
		}
	}
	return b, b.Err()
}

// testOps compares every case with the oracle: results, gradients and states.
func testOps(t *testing.T, e engine.Engine) {
	step := engine.Step{Seed: 11, Index: 3}
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			b, err := BuildCase(c)
			if err != nil {
				t.Fatal(err)
			}
			want := start(t, oracle.New(), b, b.Graph, engine.Options{})
			got := start(t, e, b, b.Graph, engine.Options{})
			want.step(t, step)
			tol := tolerance{relative: c.Relative, cancels: c.Cancels}
			if !c.Kinks {
				tol.tremors = tremors(t, b, step)
			}
			for range 2 { // the second run meets an arena full of the first one's remains
				b.Bind(got.replica, got.vectors)
				got.step(t, step)
				same(t, b.Graph, got, want, tol)
			}
		})
	}
}
