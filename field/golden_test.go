package field

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"
)

// TestSmallPlansNearProvenOptima compares with optima of the Buffer model that HiGHS proved (bench/field/milp.py makes the file).
func TestSmallPlansNearProvenOptima(t *testing.T) {
	text, err := os.ReadFile("testdata/milp.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Positions      [][2]float64
			Weights        []float64
			Range          float64
			Limit, Optimum float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	var ratios []float64
	largest := 0
	for k, c := range golden.Cases {
		in := &Instance{Range: c.Range, Upload: Buffer, Energy: FirstOrder(), Sink: Sink{Speed: 1, Deadline: time.Duration(c.Limit * float64(time.Second))}}
		for i, p := range c.Positions {
			in.Sensors = append(in.Sensors, Sensor{ID: fmt.Sprint(i), Pos: Point{p[0], p[1]}, Weight: c.Weights[i], Energy: 0.5})
		}
		largest = max(largest, len(in.Sensors))
		p := mustSolve(t, in, Options{Effort: 800})
		if p.MaxLoad < c.Optimum || p.Certificate.Bound > c.Optimum {
			t.Errorf("case %d: bound %g (%s), proven optimum %g, plan %g", k, p.Certificate.Bound, p.Certificate.Source, c.Optimum, p.MaxLoad)
		}
		ratio := p.MaxLoad / c.Optimum
		if most := mostChildren(p) + 1; ratio > most {
			t.Errorf("case %d: %g times the optimum with at most %g children", k, ratio, most-1)
		}
		ratios = append(ratios, ratio)
	}
	slices.Sort(ratios)
	if len(ratios) < 20 || largest < 25 {
		t.Fatalf("only %d cases of up to %d sensors", len(ratios), largest)
	}
	if median := ratios[len(ratios)/2]; median > 1.5 {
		t.Errorf("median ratio %g to the proven optimum", median)
	}
}

// mostChildren is the largest number of children that the guarantee of the tree algorithm is stated in: of the plan's own trees.
func mostChildren(p *Plan) float64 {
	count := make([]float64, len(p.Parent))
	for _, q := range p.Parent {
		if q >= 0 {
			count[q]++
		}
	}
	return math.Max(1, slices.Max(count))
}
