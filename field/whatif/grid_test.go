package whatif

import (
	"context"
	"errors"
	"testing"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/survey"
)

func instance(t testing.TB) *field.Instance {
	t.Helper()
	sensors, err := survey.Generate(survey.Field{Shape: "c", N: 80, Side: 200, Weights: "uniform", Energy: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return &field.Instance{Sensors: sensors, Range: 40, Depot: &field.Point{X: 20, Y: 100}, Energy: field.FirstOrder(),
		Sink: field.Sink{Speed: 2, Deadline: 90 * time.Second, Rate: 20}}
}

func TestGrid(t *testing.T) {
	in := instance(t)
	a := Around(in)
	calls := 0
	g, err := Compute(context.Background(), in, a, field.Options{Seed: 1}, func(done, total int) { calls = done*100 + total })
	if err != nil || len(g.Cells) != 45 || calls != 4545 {
		t.Fatalf("%v, %d cells, %d", err, len(g.Cells), calls)
	}
	feasible := 0
	for i, c := range g.Cells {
		if want := a.Deadlines[i/9]; c.Deadline != want || c.Speed != a.Speeds[i/3%3] || c.Range != a.Ranges[i%3] {
			t.Errorf("cell %d is that of %v, %v m/s, %v m", i, c.Deadline, c.Speed, c.Range)
		}
		if c.Problem != "" {
			continue
		}
		feasible++
		if c.Total > c.Deadline || c.Bound > c.MaxLoad || c.Stops == 0 || c.Rounds <= 0 || len(c.Paths) != 1 {
			t.Errorf("cell %d: %+v", i, c)
		}
	}
	if slow, fast := g.Cells[0*9+0*3+1], g.Cells[4*9+2*3+1]; slow.Problem == "" && slow.MaxLoad < fast.MaxLoad {
		t.Errorf("more time and speed give a load of %v instead of %v", fast.MaxLoad, slow.MaxLoad)
	}
	if feasible < 20 {
		t.Errorf("%d of 45 combinations have a plan", feasible)
	}
	p, err := field.Solve(context.Background(), in, field.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	g.Put(in, p)
	if c := g.Cells[2*9+1*3+1]; c.MaxLoad != p.MaxLoad || c.Total != p.Tours[0].Total {
		t.Errorf("the middle is %+v", c)
	}
}

func TestInfeasibleCellSaysWhy(t *testing.T) {
	in := instance(t)
	in.Depot = &field.Point{X: 5000}
	g, err := Compute(context.Background(), in, Axes{[]time.Duration{time.Minute}, []float64{2}, []float64{40}}, field.Options{}, nil)
	if err != nil || g.Cells[0].Problem == "" || g.Cells[0].Nearest < time.Hour {
		t.Fatalf("%v %+v", err, g)
	}
}

func TestErrors(t *testing.T) {
	in := instance(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compute(ctx, in, Around(in), field.Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	in.Sensors[0].Weight = -1
	var fault *field.InputError
	if _, err := Compute(context.Background(), in, Around(in), field.Options{}, nil); !errors.As(err, &fault) {
		t.Error(err)
	}
	in.Links = []field.Link{}
	if a := Around(in); len(a.Ranges) != 1 {
		t.Errorf("ranges %v although links are given", a.Ranges)
	}
}
