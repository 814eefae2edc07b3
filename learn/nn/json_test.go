package nn_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace.dev/learn/graph"
	"millrace.dev/learn/nn"
)

var update = flag.Bool("update", false, "rewrite testdata/lenet.json")

// scale is a custom layer: one factor a channel.
type scale struct{ By float32 }

func (scale) Kind() string { return "test_scale" }
func (s scale) Build(b *nn.Builder, in []*graph.Value) []*graph.Value {
	return []*graph.Value{b.Graph.Mul(in[0], b.Param("factor", nn.Constant(s.By), in[0].Shape().Last()))}
}

func init() {
	if err := errors.Join(nn.Register[scale](), nn.Register[split]()); err != nil {
		panic(err)
	}
}

// composite has all that a description can hold.
func composite(t testing.TB) *nn.Model {
	in := nn.Input("in", 6)
	inner, err := nn.NewModel("inner", nn.In(in), nn.Out(scale{2}.on(nn.Dense{Units: 6, Init: nn.HeUniform()}.On(in))))
	if err != nil {
		t.Fatal(err)
	}
	a, words := nn.Input("a", 6), nn.Indices("words", 3)
	twin := nn.NewLayer("twin", inner)
	halves := nn.NewLayer("halves", split{2}).All(twin.On(twin.On(a)))
	text := nn.Flatten{}.On(nn.Embedding{Rows: 9, Dim: 2}.On(words))
	m, err := nn.NewModel("composite", nn.In(a, words), nn.Out(nn.Concat{}.On(halves[1], text), halves[0]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (s scale) on(x *nn.Node) *nn.Node { return nn.Apply(s, x) }

func TestDescriptionRoundTrip(t *testing.T) {
	models := []*nn.Model{composite(t)}
	for _, name := range nn.ZooNames() {
		m, err := nn.ByName(name, []int{12, 12, 1}, 10)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	for _, m := range models {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(m.Name, err)
		}
		again, err := nn.ParseModel(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", m.Name, err, text)
		}
		if again.String() != m.String() || fmt.Sprint(again.Weights()) != fmt.Sprint(m.Weights()) {
			t.Errorf("%s reads back as\n%v\n%v", m.Name, again, again.Weights())
		}
		if m.Name == "resnet20" {
			continue // slow on the float64 engine
		}
		fill := func(_ string, i int) float32 { return float32(i % 3) }
		was, is := forward(t, m, 2, nn.Eval, fill), forward(t, again, 2, nn.Eval, fill)
		for i := range was {
			if fmt.Sprint(was[i].F32()) != fmt.Sprint(is[i].F32()) {
				t.Errorf("%s: output %d differs after reading back", m.Name, i)
			}
		}
	}
}

// TestDescriptionIsStable compares with a description in the repository, which later versions
// must still read.
func TestDescriptionIsStable(t *testing.T) {
	m, err := nn.ByName("lenet", []int{28, 28, 1}, 10)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/lenet.json"
	if *update {
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != string(text)+"\n" {
		t.Errorf("%v; the description changed to\n%s", err, text)
	}
}

func TestUnregisteredLayerCannotBeSaved(t *testing.T) {
	m := sequence(t, nn.Input("x", 3), nn.Lambda{Name: "double", F: func(g *graph.Graph, in []*graph.Value) *graph.Value {
		return g.Add(in[0], in[0])
	}})
	if _, err := json.Marshal(m); err == nil || !strings.Contains(err.Error(), `layer double_1: it cannot be saved: the kind "double" is not registered`) {
		t.Errorf("got %v", err)
	}
	if err := nn.Register[scale](); err == nil {
		t.Error("a kind was registered twice")
	}
}

func TestParseErrors(t *testing.T) {
	const x = `{"name":"m","inputs":[{"name":"x","type":"f32","shape":[3]}],`
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":        {`{`, "description"},
		"two values":     {`{}{}`, "follows"},
		"unknown field":  {x + `"layers":[],"outputs":["x"],"code":"rm"}`, `"code"`},
		"unknown type":   {`{"name":"m","inputs":[{"name":"x","type":"f99","shape":[3]}],"layers":[],"outputs":["x"]}`, "f99"},
		"unknown kind":   {x + `"layers":[{"name":"l","kind":"gru","spec":{},"in":["x"]}],"outputs":["l"]}`, `layer "l": the kind "gru" is unknown; a custom layer must be registered`},
		"bad constant":   {x + `"layers":[{"name":"l","kind":"dense","spec":{"Units":"many"},"in":["x"]}],"outputs":["l"]}`, `layer "l": its constants`},
		"unknown const":  {x + `"layers":[{"name":"l","kind":"dense","spec":{"Unit":1},"in":["x"]}],"outputs":["l"]}`, `"Unit"`},
		"cycle":          {x + `"layers":[{"name":"l","kind":"add","spec":{},"in":["x","k"]},{"name":"k","kind":"flatten","spec":{},"in":["l"]}],"outputs":["l"]}`, `layer "l": nothing that comes before is called "k": it is missing, or the layers form a cycle`},
		"missing output": {x + `"layers":[],"outputs":["y"]}`, `outputs: nothing that comes before is called "y"`},
		"duplicate":      {x + `"layers":[{"name":"x","kind":"flatten","spec":{},"in":["x"]}],"outputs":["x"]}`, "taken"},
		"again nothing":  {x + `"layers":[{"name":"l","in":["x"]}],"outputs":["l"]}`, "no kind"},
		"wrong shape":    {x + `"layers":[{"name":"l","kind":"max_pool","spec":{"Size":2},"in":["x"]}],"outputs":["l"]}`, "m/l: layer(f32[2 3])"},
		"overflow":       {`{"name":"m","inputs":[{"name":"x","type":"f32","shape":[4294967296,4294967296]}],"layers":[],"outputs":["x"]}`, "more than"},
		"null layer":     {x + `"layers":[null],"outputs":["x"]}`, "no kind"},
		"no inputs":      {`{"name":"m","inputs":[],"layers":[],"outputs":[]}`, "inputs"},
	} {
		_, err := nn.ParseModel([]byte(c.text))
		var bad interface{ BadInput() bool }
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &bad) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestModelsWithinModelsAreBounded nests models so that each applies the one before ten times.
func TestModelsWithinModelsAreBounded(t *testing.T) {
	text := `{"name":"m0","inputs":[{"name":"x","type":"f32","shape":[1]}],"layers":[{"name":"l","kind":"flatten","spec":{},"in":["x"]}],"outputs":["l"]}`
	deep := text
	for i := 1; i <= 30; i++ {
		layers := fmt.Sprintf(`{"name":"l","kind":"model","spec":%s,"in":["x"]}`, text)
		if i <= 6 {
			before := "l"
			for k := 2; k <= 10; k++ {
				layers += fmt.Sprintf(`,{"name":"l","in":["%s"]}`, before)
				before = fmt.Sprintf("l#%d", k)
			}
			text = fmt.Sprintf(`{"name":"m%d","inputs":[{"name":"x","type":"f32","shape":[1]}],"layers":[%s],"outputs":["l#10"]}`, i, layers)
		}
		deep = fmt.Sprintf(`{"name":"m%d","inputs":[{"name":"x","type":"f32","shape":[1]}],"layers":[{"name":"l","kind":"model","spec":%s,"in":["x"]}],"outputs":["l"]}`, i, deep)
	}
	if _, err := nn.ParseModel([]byte(text)); err == nil || !strings.Contains(err.Error(), "applies more than") {
		t.Errorf("a million applications: %v", err)
	}
	if _, err := nn.ParseModel([]byte(deep)); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("thirty levels: %v", err)
	}
}

func FuzzParseModel(f *testing.F) {
	for _, name := range nn.ZooNames() {
		m, err := nn.ByName(name, []int{8, 8, 1}, 3)
		if err != nil {
			f.Fatal(err)
		}
		text, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	text, err := json.Marshal(composite(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := nn.ParseModel(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := nn.ParseModel(again); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, again)
		}
	})
}
