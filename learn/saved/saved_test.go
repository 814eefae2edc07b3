package saved_test

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/graph"
	"millrace.dev/learn/internal/bundle"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/saved"
)

var update = flag.Bool("update", false, "rewrite testdata/tiny.millrace")

// trained is a small model with states, in weights of a seed.
func trained(t testing.TB) *saved.Model {
	t.Helper()
	net, err := nn.Sequential("tiny", nn.Input("image", 6, 5, 1),
		nn.Conv2D{Filters: 2, Kernel: 3, NoBias: true}, nn.BatchNorm{Act: nn.ReLU}, nn.Flatten{}, nn.Dropout{Rate: 0.5}, nn.Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	v, err := net.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := net.Init(v, 7); err != nil {
		t.Fatal(err)
	}
	return &saved.Model{
		Net: net, Vectors: v, Classes: []string{"cat", "dog", "<bird>"},
		Norm: data.Norm{Mean: []float32{0.3}, Std: []float32{0.5}}, Border: 0.1, Data: "pets",
	}
}

func bytesOf(t testing.TB, m *saved.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	m := trained(t)
	path := filepath.Join(t.TempDir(), "m.millrace")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	got, err := saved.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Net.String() != m.Net.String() || !slices.Equal(got.Classes, m.Classes) || got.Data != "pets" || got.Border != 0.1 ||
		!slices.Equal(got.Vectors.Params, m.Vectors.Params) || !slices.Equal(got.Vectors.States, m.Vectors.States) {
		t.Errorf("read %+v", got)
	}
	if !bytes.Equal(bytesOf(t, got), bytesOf(t, m)) {
		t.Error("the same model gives other bytes")
	}
	sample := make([]float32, 30)
	for i := range sample {
		sample[i] = float32(i) / 30
	}
	var results [][]float32
	for _, model := range []*saved.Model{m, got} {
		p, err := saved.NewPredictor(oracle.New(), model)
		if err != nil {
			t.Fatal(err)
		}
		probabilities, err := p.Predict(sample)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, slices.Clone(probabilities))
	}
	sum := results[0][0] + results[0][1] + results[0][2]
	if !slices.Equal(results[0], results[1]) || math.Abs(float64(sum)-1) > 1e-6 {
		t.Errorf("probabilities %v", results)
	}
}

// TestFormatIsStable compares with a file in the repository, which later versions must still
// read.
func TestFormatIsStable(t *testing.T) {
	m := trained(t)
	for i := range m.Vectors.Params { // not what chance gives: that may differ in the last bit
		m.Vectors.Params[i] = float32(i%32) / 8
	}
	const path = "testdata/tiny.millrace"
	if *update {
		if err := m.WriteFile(path); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, bytesOf(t, m)) {
		t.Error("the same model is written in another way than before")
	}
	got, err := saved.Open(path)
	if err != nil || !slices.Equal(got.Vectors.Param("tiny/dense_1/kernel"), m.Vectors.Param("tiny/dense_1/kernel")) {
		t.Errorf("a file of before is read as %+v, %v", got, err)
	}
}

func TestPredictorAllocatesNothing(t *testing.T) {
	e, err := cpu.New(1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p, err := saved.NewPredictor(e, trained(t))
	if err != nil {
		t.Fatal(err)
	}
	sample := make([]float32, 30)
	if n := testing.AllocsPerRun(20, func() {
		if _, err := p.Predict(sample); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if _, err := p.Predict(sample[:29]); err == nil || !strings.Contains(err.Error(), "[6 5 1]") {
		t.Errorf("a short sample: %v", err)
	}
}

func TestBest(t *testing.T) {
	got := trained(t).Best([]float32{0.2, 0.5, 0.3}, 2)
	if len(got) != 2 || got[0] != (saved.Guess{Class: "dog", Probability: 0.5}) || got[1].Class != "<bird>" {
		t.Errorf("got %v", got)
	}
}

// TestWrongFiles opens what is no model, each an error with the path.
func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	whole := bytesOf(t, trained(t))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-100] ^= 1
	var checkpoint bytes.Buffer
	if err := bundle.Write(&checkpoint, &bundle.File{Kind: "checkpoint", Meta: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":      {nil, "not a millrace file"},
		"text":       {[]byte("PK\x03\x04 a zip archive, perhaps"), "not a millrace file"},
		"short":      {whole[:len(whole)-200], "ends before"},
		"damaged":    {damaged, "checksum"},
		"checkpoint": {checkpoint.Bytes(), "is a checkpoint, not a model"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, c.content, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := saved.Open(path)
		var bad *saved.Error
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := saved.Open(filepath.Join(dir, "none")); err == nil || strings.Count(err.Error(), "none") != 1 {
		t.Errorf("no file: %v", err)
	}
}

// TestWeightsMustFit changes what the description asks for, or the weights that are there.
func TestWeightsMustFit(t *testing.T) {
	for want, change := range map[string]func(f *bundle.File){
		"missing: tiny/dense_1/bias": func(f *bundle.File) { f.Tensors = f.Tensors[:len(f.Tensors)-1] },
		"unexpected: more":           func(f *bundle.File) { f.Tensors = append(f.Tensors, bundle.Tensor{Name: "more"}) },
		"tiny/dense_1/bias is [3 1]": func(f *bundle.File) { f.Tensors[len(f.Tensors)-1].Shape = []int{3, 1} },
		"there are 2 classes":        func(f *bundle.File) { f.Meta = bytes.Replace(f.Meta, []byte(`"cat",`), nil, 1) },
		"normalisation":              func(f *bundle.File) { f.Meta = bytes.Replace(f.Meta, []byte(`[0.5]`), []byte(`[0]`), 1) },
		"of another shape":           func(f *bundle.File) { f.Meta = bytes.Replace(f.Meta, []byte(`[6,5,1]`), []byte(`[60000,5000,1]`), 1) },
		`the kind "lstm" is unknown`: func(f *bundle.File) { f.Meta = bytes.Replace(f.Meta, []byte(`"flatten","`), []byte(`"lstm","`), 1) },
	} {
		text := bytesOf(t, trained(t))
		f, err := bundle.Read(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		change(f)
		for i := range f.Tensors { // shapes and data must agree to be written at all
			x := &f.Tensors[i]
			x.Data = make([]float32, x.Shape.Elems())
		}
		var b bytes.Buffer
		if err := bundle.Write(&b, f); err != nil {
			t.Fatal(err)
		}
		if _, err := saved.Read(bytes.NewReader(b.Bytes()), int64(b.Len())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWriteChecks(t *testing.T) {
	m := trained(t)
	m.Classes = m.Classes[:2]
	if err := m.Write(&bytes.Buffer{}); err == nil {
		t.Error("a model with too few classes was written")
	}
}

func TestNPZ(t *testing.T) {
	m := trained(t)
	var b bytes.Buffer
	if err := saved.WriteNPZ(&b, m.Net, m.Vectors); err != nil {
		t.Fatal(err)
	}
	again, err := m.Net.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := saved.ReadNPZ(bytes.NewReader(b.Bytes()), int64(b.Len()), "w.npz", m.Net, again); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.Params, m.Vectors.Params) || !slices.Equal(again.States, m.Vectors.States) {
		t.Error("the weights changed on the way")
	}
	other, err := nn.Sequential("tiny", nn.Input("image", 6, 5, 1), nn.Flatten{}, nn.Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	v, err := other.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	err = saved.ReadNPZ(bytes.NewReader(b.Bytes()), int64(b.Len()), "w.npz", other, v)
	var mismatch *nn.MismatchError
	if !errors.As(err, &mismatch) || len(mismatch.Unexpected) != 5 || len(mismatch.Mismatched) != 1 || slices.Max(v.Params) != 0 {
		t.Errorf("weights of another model: %v", err)
	}
}

func TestBorder(t *testing.T) {
	pix := make([]float32, 30)
	for i := range pix {
		pix[i] = 0.9
	}
	for y := 1; y < 5; y++ {
		for x := 1; x < 4; x++ {
			pix[y*5+x] = 0 // only the inside
		}
	}
	if b := saved.Border(pix, []int{6, 5, 1}); math.Abs(float64(b)-0.9) > 1e-6 {
		t.Errorf("border %v", b)
	}
	m := trained(t)
	if !m.LooksInverted(pix) {
		t.Error("a light ground for a model of dark ones looks right")
	}
	if m.LooksInverted(make([]float32, 30)) {
		t.Error("a dark ground looks inverted")
	}
}

func FuzzRead(f *testing.F) {
	text := bytesOf(f, trained(f))
	file, err := bundle.Read(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(file.Meta))
	ends := bytesOf(f, distances(f))
	other, err := bundle.Read(bytes.NewReader(ends), int64(len(ends)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(other.Meta))
	f.Fuzz(func(t *testing.T, meta []byte) {
		var b bytes.Buffer
		if err := bundle.Write(&b, &bundle.File{Kind: "model", Meta: meta, Tensors: file.Tensors}); err != nil {
			return // no JSON
		}
		m, err := saved.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			b.Reset()
			if err := bundle.Write(&b, &bundle.File{Kind: "model", Meta: meta, Tensors: other.Tensors}); err != nil {
				t.Fatal(err)
			}
			m, err = saved.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		}
		if err != nil {
			return
		}
		p, err := saved.NewPredictor(oracle.New(), m)
		if err != nil {
			return // more than can be computed, such as windows that are too large
		}
		size := 0
		for i := range m.Net.NumInputs() {
			size += m.Net.InputShape(i).Elems()
		}
		// A normalised zero may be no index into a table, or none that it has.
		var outside *engine.RangeError
		if _, err := p.Predict(make([]float32, size)); err != nil && !errors.As(err, &outside) && !strings.Contains(err.Error(), "no whole number") {
			t.Fatal(err)
		}
	})
}

// scaleShift is a layer that this package does not know: it has weights, constants and a state.
type scaleShift struct {
	Start float32
	Act   nn.Act `json:",omitempty"`
}

func (scaleShift) Kind() string { return "scale_shift" }

func (l scaleShift) Build(b *nn.Builder, in []*graph.Value) []*graph.Value {
	if len(in) != 1 {
		return b.Failf(in, "scale_shift takes one input")
	}
	n := in[0].Shape().Last()
	g := b.Graph
	y := g.Add(g.Mul(in[0], b.Param("scale", nn.Constant(l.Start), n)), b.Bias("shift", nn.Normal(1), n))
	y = g.Add(y, b.State("offset", nn.Constant(0.5), n))
	if l.Act == nn.Tanh {
		y = g.Unary(graph.Tanh, y)
	}
	return []*graph.Value{y}
}

// TestCustomLayer saves a model with a layer from outside, which can be read once its kind is
// registered, weights and all.
func TestCustomLayer(t *testing.T) {
	net, err := nn.Sequential("mine", nn.Input("x", 3), scaleShift{Start: 2, Act: nn.Tanh}, nn.Dense{Units: 2}, scaleShift{Start: 1})
	if err != nil {
		t.Fatal(err)
	}
	v, err := net.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := net.Init(v, 3); err != nil {
		t.Fatal(err)
	}
	for i := range v.Params { // as if trained
		v.Params[i] += float32(i) / 100
	}
	m := &saved.Model{
		Net: net, Vectors: v, Classes: []string{"a", "b"},
		Norm: data.Norm{Mean: make([]float32, 3), Std: []float32{1, 1, 1}},
	}
	path := filepath.Join(t.TempDir(), "mine.millrace")
	if err := m.WriteFile(path); err == nil || !strings.Contains(err.Error(), `layer scale_shift_1: it cannot be saved: the kind "scale_shift" is not registered`) {
		t.Fatalf("without registration: %v", err)
	}
	if err := nn.Register[scaleShift](); err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	again, err := saved.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if again.Net.NumParams() != 6+8+4 || again.Net.NumStates() != 5 {
		t.Errorf("%d params and %d states came back", again.Net.NumParams(), again.Net.NumStates())
	}
	for i, w := range again.Net.Weights() {
		if was := net.Weights()[i]; w.Name != was.Name || !slices.Equal(w.Place(again.Vectors), was.Place(v)) {
			t.Errorf("%s came back as other numbers", w.Name)
		}
	}
	var got [2][]float32
	for i, model := range []*saved.Model{m, again} {
		p, err := saved.NewPredictor(oracle.New(), model)
		if err != nil {
			t.Fatal(err)
		}
		probabilities, err := p.Predict([]float32{0.1, -0.2, 0.3})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = slices.Clone(probabilities)
	}
	if !slices.Equal(got[0], got[1]) || got[0][0] == got[0][1] {
		t.Errorf("predictions %v", got)
	}
}
