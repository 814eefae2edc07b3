package saved_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/oracle"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/saved"
)

// distances has two inputs, one of them words, and two outputs without classes.
func distances(t testing.TB) *saved.Model {
	t.Helper()
	x, words := nn.Input("x", 2), nn.Indices("words", 1)
	h := nn.Concat{}.On(x, nn.Flatten{}.On(nn.Embedding{Rows: 4, Dim: 2}.On(words)))
	net, err := nn.NewModel("distances", nn.In(x, words), nn.Out(nn.Dense{Units: 2}.On(h), nn.Dense{Units: 1}.On(h)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := net.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := net.Init(v, 1); err != nil {
		t.Fatal(err)
	}
	return &saved.Model{Net: net, Vectors: v}
}

func TestModelWithoutClasses(t *testing.T) {
	m := distances(t)
	text := bytesOf(t, m)
	again, err := saved.Read(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var results [][]float32
	for _, m := range []*saved.Model{m, again} {
		p, err := saved.NewPredictor(oracle.New(), m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Predict([]float32{0.5, -1, 3})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, slices.Clone(got))
		for want, sample := range map[string][]float32{"takes [3]": {1, 2}, "row 4 ": {1, 2, 4}, "no whole number": {1, 2, 0.5}} {
			if _, err := p.Predict(sample); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
	if len(results[0]) != 3 || !slices.Equal(results[0], results[1]) || slices.Max(results[0]) == slices.Min(results[0]) {
		t.Errorf("outputs %v", results)
	}

	bad := distances(t)
	bad.Norm = data.Norm{Mean: []float32{0}, Std: []float32{1}}
	if err := bad.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "need 3") {
		t.Errorf("a norm for one value of three: %v", err)
	}
	bad.Classes = []string{"near", "far"}
	if err := bad.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "2 inputs and 2 outputs") {
		t.Errorf("classes for two outputs: %v", err)
	}
}
