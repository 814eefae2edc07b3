package graph_test

import (
	"slices"
	"strings"
	"testing"

	"millrace.dev/learn/graph"
)

// twoLayers is a net of two dense layers with an SGD update for each param; extra may read
// params once more before the updates are appended.
func twoLayers(t *testing.T, clip bool, extra func(g *graph.Graph)) *graph.Graph {
	t.Helper()
	g := graph.New()
	h := g.Unary(graph.Relu, g.Add(g.MatMul(g.Input("x", graph.F32(4, 2)), g.Param("w1", 2, 3)), g.Param("b1", 3)))
	loss := g.Sum(g.Unary(graph.Square, g.MatMul(h, g.Param("w2", 3, 2))))
	g.Output("loss", loss)
	if err := g.Train(loss); err != nil {
		t.Fatal(err)
	}
	extra(g)
	scale := g.Scalar(1)
	if clip {
		grads := []*graph.Value{}
		for _, d := range g.Grads {
			grads = append(grads, d.Value)
		}
		out := g.Apply("clip_scale", graph.ClipAttr{Max: 1}, grads...)
		g.Output("norm", out[0])
		scale = out[1]
	}
	hyper := g.Input("hyper", graph.F32(graph.HyperLen))
	for _, d := range g.Grads {
		g.Apply("update", graph.UpdateAttr{Kind: graph.SGD, Momentum: 0.9}, hyper, scale, d.Param, d.Value, g.SlotState(d.Param, 0))
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	return g
}

// sequence lists the nodes that matter for the order of updates: products and sums that are
// gradients ("dw1"), products that are not ("product"), updates ("update w1"), and what reads a
// param otherwise.
func sequence(g *graph.Graph) []string {
	of := map[*graph.Value]string{}
	for _, d := range g.Grads {
		of[d.Value] = d.Param.Name
	}
	seq := []string{}
	for _, n := range g.Nodes {
		switch {
		case n.Op == "update":
			seq = append(seq, "update "+n.In[2].Name)
		case len(n.Out) > 0 && of[n.Out[0]] != "":
			seq = append(seq, "d"+of[n.Out[0]])
		case n.Op == "matmul":
			seq = append(seq, "product")
		case n.Op == "unary" && n.In[0].Op() == "param", n.Op == "clip_scale":
			seq = append(seq, n.Op)
		}
	}
	return seq
}

func TestScheduleUpdates(t *testing.T) {
	none := func(*graph.Graph) {}
	for _, c := range []struct {
		name  string
		clip  bool
		extra func(g *graph.Graph)
		want  string
	}{
		{"each behind its gradient; the input's gradient first", false, none,
			"product, product, product, dw2, update w2, db1, update b1, dw1, update w1"},
		{"behind another reader", false, func(g *graph.Graph) {
			w2, _ := g.Lookup("w2")
			g.Output("size", g.Unary(graph.Abs, w2))
		}, "product, product, product, dw2, db1, update b1, dw1, update w1, unary, update w2"},
		{"behind clipping", true, none,
			"product, product, product, dw2, db1, dw1, clip_scale, update w1, update b1, update w2"},
	} {
		g, err := graph.Optimize(twoLayers(t, c.clip, c.extra))
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		s, err := graph.ScheduleUpdates(g)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if g.String() != before {
			t.Errorf("%s: the argument changed", c.name)
		}
		if got := strings.Join(sequence(s), ", "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		again, err := graph.ScheduleUpdates(s)
		if err != nil || again.String() != s.String() {
			t.Errorf("%s: scheduling a scheduled graph changes it: %v", c.name, err)
		}
	}
}

func TestUpdateStage(t *testing.T) {
	g := twoLayers(t, true, func(*graph.Graph) {})
	g.Output("log norm", g.Unary(graph.Log, g.Outputs[1].Value))
	late := []string{}
	for i, is := range g.UpdateStage() {
		if is {
			late = append(late, g.Nodes[i].Op)
		}
	}
	if want := []string{"clip_scale", "update", "update", "update", "unary"}; !slices.Equal(late, want) {
		t.Errorf("the update stage is %v, want %v", late, want)
	}
}
