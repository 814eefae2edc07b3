package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"millrace.dev/field"
	"millrace.dev/field/survey"
)

// fieldSide is the side of the fields whose lifetimes are compared, in metres; the sink drives at a metre a second.
const fieldSide = 600

// lifeModels are the kinds of instances whose lifetimes are compared.
var lifeModels = []struct {
	name, weights string
	change        func(*field.Instance)
}{
	{"listen", "uniform", func(*field.Instance) {}},
	{"turn", "uniform", func(in *field.Instance) { in.Sink.Turn = 5 * time.Second }},
	{"dwell", "uniform", dwelling},
	{"hotspot", "hotspot", dwelling},
	{"heavy", "heavy", dwelling},
	{"buffer", "uniform", func(in *field.Instance) { in.Upload = field.Buffer }},
}

// dwelling makes stops cost time: five seconds each, and half a second for each packet, rounded up to whole seconds.
func dwelling(in *field.Instance) {
	in.Sink.Turn, in.Sink.Rate, in.Sink.Hold = 5*time.Second, 2, time.Second
}

// lifeInstance is one field of 600 sensors.
func lifeInstance(shape, weights string, seed uint64, change func(*field.Instance)) (*field.Instance, error) {
	sensors, err := survey.Generate(survey.Field{Shape: shape, N: 600, Side: fieldSide, Weights: weights, Energy: 0.5, Seed: seed})
	if err != nil {
		return nil, err
	}
	in := &field.Instance{Sensors: sensors, Range: 40, Energy: field.FirstOrder(), Sink: field.Sink{Speed: 1, Deadline: 4 * fieldSide * time.Second}}
	change(in)
	return in, nil
}

// lives are the results of one model and shape.
type lives struct {
	ours   []float64            // rounds
	others map[string][]float64 // by baseline
	ratios map[string][]float64 // ours over the baseline's on the same instance
	even   map[string][]float64 // the same of Jain's index
	plans  int
	late   int // tours beyond the deadline
}

// lifetimes compares with every baseline on many fields of each shape.
func (b *fieldBench) lifetimes(ctx context.Context) error {
	seeds := uint64(50)
	if b.quick {
		seeds = 1
	}
	plans, late := 0, 0
	for _, model := range lifeModels {
		for _, shape := range survey.Shapes {
			progress(fmt.Sprintf("lifetime/%s/%s", model.name, shape))
			l := lives{others: map[string][]float64{}, ratios: map[string][]float64{}, even: map[string][]float64{}}
			for seed := range seeds {
				in, err := lifeInstance(shape, model.weights, seed, model.change)
				if err != nil {
					return err
				}
				if err := l.compare(ctx, in, seed); err != nil {
					return err
				}
			}
			b.addLives(model.name, shape, &l)
			plans, late = plans+l.plans, late+l.late
		}
	}
	b.add("late tours", "of all", "", float64(late), math.NaN(), math.NaN(), math.NaN())
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("lifetime and evenness rest on %d seeds a shape and model, %d plans, every one verified by field.Check", seeds, plans))
	return nil
}

// compare plans one instance in every way.
func (l *lives) compare(ctx context.Context, in *field.Instance, seed uint64) error {
	plan, err := field.Solve(ctx, in, field.Options{Seed: seed, Partial: true, Effort: 300})
	if err != nil {
		return err
	}
	life := field.Estimate(in, plan)
	l.count(in, plan)
	l.ours = append(l.ours, life.FirstDeath)
	for _, base := range field.Baselines() {
		p, err := base.Plan(ctx, in, field.Options{Seed: seed, Partial: true})
		if err != nil {
			return fmt.Errorf("%s: %w", base.Name, err)
		}
		l.count(in, p)
		other := field.Estimate(in, p)
		l.others[base.Name] = append(l.others[base.Name], other.FirstDeath)
		l.ratios[base.Name] = append(l.ratios[base.Name], life.FirstDeath/other.FirstDeath)
		l.even[base.Name] = append(l.even[base.Name], life.Jain/other.Jain)
	}
	return nil
}

// count notes a plan and whether its tours are late.
func (l *lives) count(in *field.Instance, plan *field.Plan) {
	l.plans++
	for _, t := range plan.Tours {
		if t.Total > in.Sink.Deadline {
			l.late++
		}
	}
}

// addLives adds the rows of one model and shape.
func (b *fieldBench) addLives(model, shape string, l *lives) {
	closest, rival := math.Inf(1), ""
	for _, base := range field.Baselines() {
		m := median(l.ratios[base.Name])
		b.add(fmt.Sprintf("lifetime/%s/%s/%s", model, shape, base.Name), "rounds", base.Name, median(l.ours), median(l.others[base.Name]), m, 1-slices.Min(l.ratios[base.Name])/m)
		if e := median(l.even[base.Name]); e < closest {
			closest, rival = e, base.Name
		}
	}
	b.add(fmt.Sprintf("evenness/%s/%s", model, shape), "Jain", rival, math.NaN(), math.NaN(), closest, math.NaN())
}
