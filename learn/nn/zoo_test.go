package nn

import (
	"testing"

	"millrace.dev/learn/graph"
)

func TestZooBuilds(t *testing.T) {
	for _, name := range ZooNames() {
		m, err := ByName(name, []int{28, 28, 1}, 10)
		if err != nil {
			t.Fatal(name, err)
		}
		g := graph.New()
		b := m.Graph(g, 4, Train)
		labels := g.Input("labels", graph.Spec{DType: 4, Shape: []int{4}})
		loss := g.SoftmaxXent(b.Outputs[0], labels, graph.XentAttr{Ignore: graph.NoIgnore})
		if err := g.Train(loss); err != nil {
			t.Fatal(name, err)
		}
		if err := g.Check(); err != nil {
			t.Fatal(name, err)
		}
		t.Logf("%v", m)
	}
}
