package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"millrace.dev/learn/nn"
)

// start gives the first values of the kernel of a dense layer 300 → 200.
func start(t testing.TB, i nn.Init, seed uint64, name string) []float32 {
	m, err := nn.NewModel("m", nn.In(input), nn.Out(nn.NewLayer(name, nn.Dense{Units: 200, Init: i}).On(input)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Init(v, seed); err != nil {
		t.Fatal(err)
	}
	return v.Param("m/" + name + "/kernel")
}

var input = nn.Input("x", 300)

func TestInitialMoments(t *testing.T) {
	for _, c := range []struct {
		name     string
		init     nn.Init
		variance float64
		limit    float64 // of the absolute value
	}{
		{"uniform", nn.Uniform(0.5), 0.25 / 3, 0.5},
		{"normal", nn.Normal(0.1), 0.01, 1},
		{"truncated", nn.TruncatedNormal(0.1), 0.01 * 0.7737, 0.2},
		{"glorot uniform", nn.GlorotUniform(), 2.0 / 500, math.Sqrt(6.0 / 500)},
		{"glorot normal", nn.GlorotNormal(), 2.0 / 500, 1},
		{"he uniform", nn.HeUniform(), 2.0 / 300, math.Sqrt(6.0 / 300)},
		{"he normal", nn.HeNormal(), 2.0 / 300, 1},
		{"lecun uniform", nn.LeCunUniform(), 1.0 / 300, math.Sqrt(3.0 / 300)},
		{"lecun normal", nn.LeCunNormal(), 1.0 / 300, 1},
		{"fan out", nn.Init{Dist: nn.Norm, Scale: 1, Fan: nn.FanOut}, 1.0 / 200, 1},
	} {
		w := start(t, c.init, 3, "d")
		var sum, squares float64
		for _, x := range w {
			sum += float64(x)
			squares += float64(x) * float64(x)
			if math.Abs(float64(x)) > c.limit*1.0001 {
				t.Errorf("%s: %v is beyond %v", c.name, x, c.limit)
				break
			}
		}
		n := float64(len(w))
		if mean := sum / n; math.Abs(mean) > 5*math.Sqrt(c.variance/n) {
			t.Errorf("%s: mean %v", c.name, mean)
		}
		if got := squares / n; math.Abs(got/c.variance-1) > 0.03 {
			t.Errorf("%s: variance %v, want %v", c.name, got, c.variance)
		}
	}
	for want, i := range map[float32]nn.Init{0: nn.Zeros(), 1: nn.Ones(), -2: nn.Constant(-2)} {
		if w := start(t, i, 3, "d"); slices.Min(w) != want || slices.Max(w) != want {
			t.Errorf("constant %v is %v", want, w[:3])
		}
	}
}

func TestOrthogonal(t *testing.T) {
	w := start(t, nn.Orthogonal(2), 1, "d") // 300×200: orthonormal columns times 2
	for a := range 20 {
		for b := range 20 {
			dot := 0.0
			for row := range 300 {
				dot += float64(w[row*200+a]) * float64(w[row*200+b*7])
			}
			want := 0.0
			if a == b*7 {
				want = 4
			}
			if math.Abs(dot-want) > 1e-4 {
				t.Fatalf("columns %d and %d have the product %v", a, b*7, dot)
			}
		}
	}
}

func TestStartDependsOnSeedAndNameAlone(t *testing.T) {
	for _, i := range []nn.Init{nn.HeNormal(), nn.GlorotUniform(), nn.TruncatedNormal(1), nn.Orthogonal(1)} {
		w := start(t, i, 1, "d")
		if !slices.Equal(w, start(t, i, 1, "d")) {
			t.Errorf("%v: another time, other weights", i)
		}
		if slices.Equal(w, start(t, i, 2, "d")) || slices.Equal(w, start(t, i, 1, "e")) {
			t.Errorf("%v: weights do not depend on seed and name", i)
		}
	}
	// Layers before and after it do not matter.
	m := sequence(t, input, nn.Dropout{}, nn.Dense{Units: 200, Init: nn.HeNormal()}, nn.Dense{Units: 4})
	v, err := m.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Init(v, 1); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(v.Param("m/dense_1/kernel"), start(t, nn.HeNormal(), 1, "dense_1")) {
		t.Error("other layers change the weights")
	}
}

func TestUnknownDistribution(t *testing.T) {
	m := sequence(t, input, nn.Dense{Units: 2, Init: nn.Init{Dist: "cauchy"}})
	v, err := m.NewVectors()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Init(v, 1); err == nil || fmt.Sprint(err) != `model "m": m/dense_1/kernel: unknown initial distribution "cauchy"` {
		t.Errorf("got %v", err)
	}
}

func TestCompareWeights(t *testing.T) {
	w := func(name string, shape ...int) nn.Named { return nn.Named{Name: name, Shape: shape} }
	need := []nn.Named{w("a", 2, 3), w("b", 4), w("c")}
	if err := nn.CompareWeights(need, []nn.Named{w("c"), w("b", 4), w("a", 2, 3)}); err != nil {
		t.Error(err)
	}
	err := nn.CompareWeights(need, []nn.Named{w("a", 3, 2), w("b", 4), w("b", 4), w("z", 1)})
	want := "the weights do not fit: missing: c; unexpected: b (twice), z; of another shape: a is [3 2], not [2 3]"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}
