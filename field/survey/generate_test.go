package survey

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGenerate(t *testing.T) {
	for _, shape := range Shapes {
		for _, weights := range Weights {
			f := Field{Shape: shape, N: 500, Side: 400, Weights: weights, Energy: 0.5, Seed: 7}
			sensors, err := Generate(f)
			if err != nil {
				t.Fatal(err)
			}
			total, most := 0.0, 0.0
			for _, s := range sensors {
				if !inside(shape, s.Pos.X/f.Side, s.Pos.Y/f.Side) && !nearEdge(shape, s.Pos.X/f.Side, s.Pos.Y/f.Side) {
					t.Fatalf("%s: %v lies outside", shape, s.Pos)
				}
				total, most = total+s.Weight, max(most, s.Weight)
			}
			if uniform := weights == "uniform"; uniform != (total == 500 && most == 1) {
				t.Errorf("%s %s: total weight %v, largest %v", shape, weights, total, most)
			}
			again, _ := Generate(f)
			if cmp.Diff(sensors, again) != "" {
				t.Error("the same seed gives another field")
			}
			if f.Seed++; cmp.Equal(must(Generate(f)), sensors) {
				t.Error("another seed gives the same field")
			}
			var b bytes.Buffer
			if err := WriteCSV(&b, sensors); err != nil {
				t.Fatal(err)
			}
			if s, err := ReadCSV(&b, "f.csv", Defaults{}); err != nil || cmp.Diff(sensors, s.Sensors) != "" {
				t.Fatalf("%v: read back differently", err)
			}
		}
	}
}

// nearEdge allows for the rounding of positions.
func nearEdge(shape string, x, y float64) bool {
	const d = 1e-4
	return inside(shape, x-d, y-d) || inside(shape, x+d, y-d) || inside(shape, x-d, y+d) || inside(shape, x+d, y+d)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestGenerateRefuses(t *testing.T) {
	good := Field{Shape: "ring", N: 5, Side: 10, Weights: "heavy"}
	for name, spoil := range map[string]func(*Field){
		"shape": func(f *Field) { f.Shape = "star" }, "weights": func(f *Field) { f.Weights = "" }, "n": func(f *Field) { f.N = 0 },
		"side": func(f *Field) { f.Side = -1 }, "energy": func(f *Field) { f.Energy = -1 },
	} {
		f := good
		if spoil(&f); f == good {
			t.Fatal(name)
		}
		if _, err := Generate(f); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
