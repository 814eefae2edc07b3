package field_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/survey"
)

// made is an instance over a generated field, with a tour limit of so many sides at 1 m/s.
func made(t *testing.T, shape string, n int, side, reach, sides float64, upload field.Upload, seed uint64) *field.Instance {
	t.Helper()
	sensors, err := survey.Generate(survey.Field{Shape: shape, N: n, Side: side, Weights: "uniform", Energy: 0.5, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return &field.Instance{Sensors: sensors, Range: reach, Upload: upload, Energy: field.FirstOrder(),
		Sink: field.Sink{Speed: 1, Deadline: time.Duration(sides * side * float64(time.Second))}}
}

// TestLifetimeAgainstBaselines is a small part of the sweep in bench: each shape, both upload models. Single fields scatter, so
// it asks of each a little less than the sweep asks of their median.
func TestLifetimeAgainstBaselines(t *testing.T) {
	least := map[string]float64{"static": 4, "rp-cp": 1.2, "rp-ug": 1.2, "cb": 1.2, "wrp": 1.1, "mst-walk": 1.2, "random": 1.2}
	seeds, n, side := uint64(2), 400, 500.0
	if testing.Short() {
		seeds, n, side = 1, 250, 400
	}
	var names []string
	for _, b := range field.Baselines() {
		names = append(names, b.Name)
	}
	for _, shape := range survey.Shapes {
		for _, upload := range []field.Upload{field.Listen, field.Buffer} {
			ratios := map[string][]float64{}
			for seed := range seeds {
				in := made(t, shape, n, side, 40, 4, upload, seed)
				ours, err := field.Solve(context.Background(), in, field.Options{Seed: seed, Effort: 60, Partial: true})
				if err != nil {
					t.Fatal(err)
				}
				life := field.Estimate(in, ours)
				for _, b := range field.Baselines() {
					p, err := b.Plan(context.Background(), in, field.Options{Seed: seed, Partial: true})
					if err != nil {
						t.Fatalf("%s: %v", b.Name, err)
					}
					if p.Method != b.Name || len(p.Unserved) < len(ours.Unserved) {
						t.Errorf("%s calls itself %q and leaves out %d sensors, ours %d", b.Name, p.Method, len(p.Unserved), len(ours.Unserved))
					}
					if err := field.Check(in, p); err != nil {
						t.Errorf("%s: %v", b.Name, err)
					}
					ratios[b.Name] = append(ratios[b.Name], life.FirstDeath/field.Estimate(in, p).FirstDeath)
				}
			}
			for _, name := range names {
				if ratio := slices.Min(ratios[name]); ratio < least[name] {
					t.Errorf("%s, %v: lifetime %.2f times that of %s, want %g", shape, upload, ratio, name, least[name])
				}
			}
		}
	}
}

// TestLoadsAreEvenerThanBaselines compares Jain's index of the energy used.
func TestLoadsAreEvenerThanBaselines(t *testing.T) {
	in := made(t, "c", 250, 300, 35, 3, field.Listen, 9)
	ours, err := field.Solve(context.Background(), in, field.Options{Effort: 300, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	even := field.Estimate(in, ours).Jain
	for _, b := range field.Baselines() {
		p, err := b.Plan(context.Background(), in, field.Options{Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		if other := field.Estimate(in, p).Jain; other >= even {
			t.Errorf("Jain's index is %.3f with %s and %.3f with ours", other, b.Name, even)
		}
	}
}

func ExampleSolve() {
	in := &field.Instance{Range: 40, Energy: field.FirstOrder(), Sink: field.Sink{Speed: 2, Deadline: 10 * time.Minute}}
	in.Sensors, _ = survey.Generate(survey.Field{Shape: "square", N: 100, Side: 300, Weights: "uniform", Energy: 0.5, Seed: 1})
	plan, err := field.Solve(context.Background(), in, field.Options{})
	if err != nil {
		panic(err)
	}
	for _, tour := range plan.Tours { // plan.Stops says where to wait and who uploads there, plan.Parent who sends to whom
		fmt.Println("in time:", tour.Total <= in.Sink.Deadline)
	}
	fmt.Println("not served:", len(plan.Unserved))
	// Output:
	// in time: true
	// not served: 0
}

// A depot at the edge does not tie the static sink to the edge: it waits where the load is least, as far as the deadline lets it.
func TestStaticSinkWaitsWhereLoadIsLeast(t *testing.T) {
	in := &field.Instance{Range: 12, Energy: field.FirstOrder(), Depot: &field.Point{}, Sink: field.Sink{Speed: 1, Deadline: time.Hour}}
	for i := range 21 {
		in.Sensors = append(in.Sensors, field.Sensor{ID: fmt.Sprint(i), Pos: field.Point{X: 10 * float64(i)}, Weight: 1, Energy: 1})
	}
	for _, c := range []struct {
		deadline time.Duration
		at, load float64
	}{{time.Hour, 100, 10}, {121 * time.Second, 60, 14}, {time.Second, 0, 20}} {
		in.Sink.Deadline = c.deadline
		p, err := field.Baselines()[0].Plan(context.Background(), in, field.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Method != "static" || len(p.Stops) != 1 || p.Stops[0].Pos.X != c.at || p.MaxLoad != c.load {
			t.Errorf("%v: %d stops, the first at %v, load %v, want one at %v and %v", c.deadline, len(p.Stops), p.Stops[0].Pos, p.MaxLoad, c.at, c.load)
		}
	}
}
