package engine_test

import (
	"strings"
	"testing"
	"unsafe"

	"millrace.dev/learn/engine"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/tensor"
)

// layoutGraph declares params of odd sizes, a state, and slots of one param.
func layoutGraph() *graph.Graph {
	g := graph.New()
	g.Param("first", 3, 5)
	p := g.Param("second", 16)
	g.Param("empty", 0, 2)
	g.Param("last", 1)
	g.State("mean", 7)
	g.State("scalar")
	g.SlotState(p, 0)
	g.SlotState(p, 1)
	return g
}

func TestLayout(t *testing.T) {
	g := layoutGraph()
	l, err := engine.NewLayout(g)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		name string
		off  int
	}{{"last", 0}, {"empty", 16}, {"second", 16}, {"first", 32}} // backward order, a cache line each
	if len(l.Params) != len(want) {
		t.Fatalf("%d params", len(l.Params))
	}
	for i, w := range want {
		if l.Params[i].Name != w.name || l.Params[i].Off != w.off {
			t.Errorf("place %d is %+v, want %+v", i, l.Params[i], w)
		}
	}
	if l.ParamLen != 48 || l.StateLen != 32 || l.Slots != 2 {
		t.Errorf("lengths %d and %d, %d slots", l.ParamLen, l.StateLen, l.Slots)
	}
	if p, ok := l.State("mean"); !ok || p.Off != 0 || p.Len() != 7 {
		t.Errorf("mean stands at %+v", p)
	}
	if _, ok := l.Param("mean"); ok {
		t.Error("a state is among the params")
	}
	if err := l.Fits(g); err != nil {
		t.Error(err)
	}
}

func TestLayoutFits(t *testing.T) {
	l, err := engine.NewLayout(layoutGraph())
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(g *graph.Graph){
		"":                 func(g *graph.Graph) { g.Param("first", 3, 5); g.State("mean", 7) }, // fewer will do
		`param "other"`:    func(g *graph.Graph) { g.Param("other", 1) },
		`param "first"`:    func(g *graph.Graph) { g.Param("first", 5, 3) },
		`state "variance"`: func(g *graph.Graph) { g.State("variance", 7) },
		`state "mean"`:     func(g *graph.Graph) { g.State("mean", 8) },
		"optimiser slots":  func(g *graph.Graph) { g.SlotState(g.Param("second", 16), 2) },
	} {
		g := graph.New()
		change(g)
		err := l.Fits(g)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestVectors(t *testing.T) {
	l, err := engine.NewLayout(layoutGraph())
	if err != nil {
		t.Fatal(err)
	}
	v := l.NewVectors()
	if len(v.Params) != l.ParamLen || len(v.Grads) != l.ParamLen || len(v.States) != l.StateLen || len(v.Slots) != 2 {
		t.Fatal("vectors of wrong lengths")
	}
	for _, x := range [][]float32{v.Params, v.Grads, v.States, v.Slots[0], v.Slots[1]} {
		if uintptr(unsafe.Pointer(&x[0]))%tensor.Align != 0 {
			t.Error("a vector is not aligned")
		}
	}
	parts := map[string][]float32{
		"param": v.Param("first"), "gradient": v.Grad("first"), "slot 0": v.Slot(0, "first"), "slot 1": v.Slot(1, "first"), "state": v.State("mean"),
	}
	number := float32(1)
	for name, part := range parts {
		if len(part) == 0 || cap(part) != len(part) {
			t.Fatalf("%s: length %d, capacity %d", name, len(part), cap(part))
		}
		for i := range part {
			part[i] = number
		}
		number++
	}
	for name, part := range parts {
		for _, x := range part {
			if x != part[0] {
				t.Errorf("%s shares memory with another part", name)
				break
			}
		}
	}
	if v.Param("none") != nil || v.State("first") != nil || v.Grad("mean") != nil {
		t.Error("an unknown name has a part")
	}
	if len(v.Param("empty")) != 0 {
		t.Error("an empty param has elements")
	}
}
