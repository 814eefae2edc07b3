package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"millrace.dev/field"
)

// smallCase is an instance of the golden file of proven optima.
type smallCase struct {
	Positions [][2]float64 `json:"positions"`
	Weights   []float64    `json:"weights"`
	Range     float64      `json:"range"`
	Limit     float64      `json:"limit"`
	Optimum   float64      `json:"optimum"`
}

// optima compares small plans with proven optima.
func (b *fieldBench) optima(ctx context.Context) error {
	progress("optima")
	text, err := os.ReadFile(filepath.Join(b.dir, "..", "field", "testdata", "milp.json"))
	if err != nil {
		return err
	}
	var golden struct {
		Solver string
		Cases  []smallCase
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		return err
	}
	b.report.Peers = append(b.report.Peers, golden.Solver)
	var ratios, bounds []float64
	equal := 0
	for _, c := range golden.Cases {
		in := &field.Instance{Range: c.Range, Upload: field.Buffer, Energy: field.FirstOrder(), Sink: field.Sink{Speed: 1, Deadline: time.Duration(c.Limit * 1e9)}}
		for i, p := range c.Positions {
			in.Sensors = append(in.Sensors, field.Sensor{ID: fmt.Sprint(i), Pos: field.Point{X: p[0], Y: p[1]}, Weight: c.Weights[i], Energy: 0.5})
		}
		plan, err := field.Solve(ctx, in, field.Options{})
		if err != nil {
			return err
		}
		ratios, bounds = append(ratios, plan.MaxLoad/c.Optimum), append(bounds, plan.Certificate.Bound/c.Optimum)
		if plan.MaxLoad == c.Optimum {
			equal++
		}
	}
	b.add("optima/median", "load", "HiGHS", math.NaN(), math.NaN(), median(ratios), math.NaN())
	b.add("optima/worst", "load", "HiGHS", math.NaN(), math.NaN(), slices.Max(ratios), math.NaN())
	b.add("optima/bound/highest", "load", "HiGHS", math.NaN(), math.NaN(), slices.Max(bounds), math.NaN())
	b.add("optima/bound/median", "load", "HiGHS", math.NaN(), math.NaN(), median(bounds), math.NaN())
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("%d of %d small plans are optimal", equal, len(golden.Cases)))
	return nil
}
