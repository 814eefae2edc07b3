// Package whatif plans one instance many times over: for other deadlines, speeds and radio ranges.
//
// [Compute] fills a [Grid] with one [Cell] for each combination. Each cell is a real plan that has passed
// field.Check, made with the planner's quick setting; a combination without a plan says why, and which deadline would do. The
// grid's middle is the instance itself. Nothing is interpolated.
package whatif

import (
	"context"
	"errors"
	"time"

	"millrace.dev/field"
)

// Grid is a set of plans over three axes, each in rising order.
type Grid struct {
	Deadlines []time.Duration `json:"deadlines_ns"`
	Speeds    []float64       `json:"speeds"` // m/s
	Ranges    []float64       `json:"ranges"` // metres; a single 0 when links are given
	Cells     []Cell          `json:"cells"`  // deadlines vary slowest, ranges fastest
}

// Cell is the outcome for one combination.
type Cell struct {
	Deadline time.Duration   `json:"deadline_ns"`
	Speed    float64         `json:"speed"`
	Range    float64         `json:"range"`
	Problem  string          `json:"problem,omitempty"`    // why there is no plan
	Nearest  time.Duration   `json:"nearest_ns,omitempty"` // a deadline that would do
	MaxLoad  float64         `json:"max_load"`
	Bound    float64         `json:"bound"`
	Rounds   float64         `json:"rounds"`   // until the first sensor dies; 0 when none ever does
	Length   float64         `json:"length"`   // metres of all tours
	Total    time.Duration   `json:"total_ns"` // of the longest tour
	Stops    int             `json:"stops"`
	Unserved int             `json:"unserved"`
	Paths    [][]field.Point `json:"-"` // of the tours
}

// Axes are the values to combine.
type Axes struct {
	Deadlines []time.Duration
	Speeds    []float64
	Ranges    []float64
}

// Around is a set of axes with the instance in the middle: half to twice the deadline and the speed, and three quarters to five
// quarters of the range.
func Around(in *field.Instance) Axes {
	a := Axes{Ranges: []float64{in.Range}}
	for _, f := range []float64{0.5, 0.75, 1, 1.5, 2} {
		a.Deadlines = append(a.Deadlines, time.Duration(f*float64(in.Sink.Deadline)).Round(time.Second))
	}
	a.Deadlines[2] = in.Sink.Deadline
	for _, f := range []float64{0.5, 1, 2} {
		a.Speeds = append(a.Speeds, f*in.Sink.Speed)
	}
	if in.Links == nil {
		a.Ranges = []float64{0.75 * in.Range, in.Range, 1.25 * in.Range}
	}
	return a
}

// Compute plans every combination. Progress, when not nil, is called after each one. The error is the context's, or that of an instance that
// is wrong whatever the combination.
func Compute(ctx context.Context, in *field.Instance, a Axes, opt field.Options, progress func(done, total int)) (*Grid, error) {
	g := &Grid{Deadlines: a.Deadlines, Speeds: a.Speeds, Ranges: a.Ranges}
	total := len(a.Deadlines) * len(a.Speeds) * len(a.Ranges)
	opt.Progress, opt.Effort = nil, -1
	for _, deadline := range a.Deadlines {
		for _, speed := range a.Speeds {
			for _, reach := range a.Ranges {
				cell, err := plan(ctx, vary(in, deadline, speed, reach), opt)
				if err != nil {
					return nil, err
				}
				g.Cells = append(g.Cells, cell)
				if progress != nil {
					progress(len(g.Cells), total)
				}
			}
		}
	}
	return g, nil
}

// vary is the instance with another deadline, speed and range. The range at which the sink hears grows alike.
func vary(in *field.Instance, deadline time.Duration, speed, reach float64) *field.Instance {
	v := *in
	v.Sink.Deadline, v.Sink.Speed = deadline, speed
	if in.Links == nil && in.Range > 0 {
		v.UploadRange *= reach / in.Range
		v.Range = reach
	}
	return &v
}

func plan(ctx context.Context, in *field.Instance, opt field.Options) (Cell, error) {
	c := Cell{Deadline: in.Sink.Deadline, Speed: in.Sink.Speed, Range: in.Range}
	p, err := field.Solve(ctx, in, opt)
	var infeasible *field.InfeasibleError
	if errors.As(err, &infeasible) {
		c.Problem, c.Nearest = infeasible.Problem, infeasible.Nearest
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.take(in, p)
	return c, nil
}

func (c *Cell) take(in *field.Instance, p *field.Plan) {
	c.MaxLoad, c.Bound, c.Stops, c.Unserved = p.MaxLoad, p.Certificate.Bound, len(p.Stops), len(p.Unserved)
	if life := field.Estimate(in, p); life.First >= 0 {
		c.Rounds = life.FirstDeath
	}
	for i := range p.Tours {
		c.Length += p.Tours[i].Length
		c.Total = max(c.Total, p.Tours[i].Total)
		c.Paths = append(c.Paths, p.Tours[i].Path)
	}
}

// Put replaces the cell of the instance itself, if the grid has it, by a plan that was made with more effort.
func (g *Grid) Put(in *field.Instance, p *field.Plan) {
	for i := range g.Cells {
		if c := &g.Cells[i]; c.Deadline == in.Sink.Deadline && c.Speed == in.Sink.Speed && (c.Range == in.Range || in.Links != nil) {
			*c = Cell{Deadline: c.Deadline, Speed: c.Speed, Range: c.Range}
			c.take(in, p)
		}
	}
}
