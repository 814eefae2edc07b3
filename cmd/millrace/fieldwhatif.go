package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"millrace.dev/field"
	"millrace.dev/field/whatif"
)

func fieldWhatIfCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "what-if PLAN",
		Short: "Plan again for other deadlines, speeds and radio ranges",
		Long: `Plan again for other deadlines, speeds and radio ranges.

PLAN is a directory written by "millrace field plan", or its plan.json. These plans are made quickly: each may be
worse than one that "millrace field plan" makes with the same values. The values of PLAN itself show PLAN.`,
		Args: exactly("PLAN"),
	}
	var deadlines []time.Duration
	var speeds, ranges []float64
	f := cmd.Flags()
	f.DurationSliceVar(&deadlines, "deadlines", nil, "`times` for a tour, such as 10m,20m (default: around the plan's)")
	f.Float64SliceVar(&speeds, "speeds", nil, "`speeds` in m/s (default: around the plan's)")
	f.Float64SliceVar(&ranges, "ranges", nil, "radio `ranges` in metres (default: around the plan's)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := openPlan(args[0])
		if err != nil {
			return err
		}
		axes := whatif.Around(m.Instance)
		if deadlines != nil {
			axes.Deadlines = deadlines
		}
		if speeds != nil {
			axes.Speeds = speeds
		}
		if ranges != nil {
			if m.Instance.Links != nil {
				return usagef("--ranges: the links of this plan were measured and do not follow from a range")
			}
			axes.Ranges = ranges
		}
		slices.Sort(axes.Deadlines)
		slices.Sort(axes.Speeds)
		slices.Sort(axes.Ranges)
		p := c.progress("planning", "plans", int64(len(axes.Deadlines)*len(axes.Speeds)*len(axes.Ranges)))
		grid, err := whatif.Compute(cmd.Context(), m.Instance, axes, field.Options{Seed: m.Plan.Seed, Partial: len(m.Plan.Unserved) > 0},
			func(done, _ int) { p.set(int64(done), "") })
		if err != nil {
			return planningError(err)
		}
		grid.Put(m.Instance, m.Plan)
		return c.result(grid, func(w io.Writer) error { return printGrid(w, grid) })
	}
	return cmd
}

func printGrid(w io.Writer, g *whatif.Grid) error {
	var rows [][]string
	for _, c := range g.Cells {
		row := []string{c.Deadline.String(), figure(c.Speed), figure(c.Range)}
		if c.Problem != "" {
			note := "no plan: " + c.Problem
			if c.Nearest > 0 {
				note += fmt.Sprintf("; %v would do", c.Nearest.Round(time.Second))
			}
			rows = append(rows, append(row, "-", "-", "-", "-", "-", note))
			continue
		}
		rows = append(rows, append(row, figure(c.MaxLoad), figure(c.Bound), count(int64(c.Rounds)), fmt.Sprint(c.Stops), count(int64(c.Length+0.5)), ""))
	}
	if err := table(w, []string{"DEADLINE", "M/S", "RANGE", "MAX LOAD", "BOUND", "ROUNDS", "STOPS", "METRES", ""}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, `planned quickly: each line but the plan's own may be worse than "millrace field plan" with the same values`)
	return err
}
