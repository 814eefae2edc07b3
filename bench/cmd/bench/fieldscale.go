package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
)

// scale plans ever larger fields in processes of their own: where stopping costs nothing, and where it does.
func (b *fieldBench) scale(ctx context.Context) error {
	free, stops := []int{50_000, 100_000, 250_000, 500_000, 1_000_000}, []int{50_000, 100_000, 500_000, 1_000_000}
	if b.quick {
		free, stops = []int{25_000, 50_000}, []int{25_000}
	}
	for _, kind := range []struct {
		row, model string
		sizes      []int
	}{{"scale", "free", free}, {"stops", "stops", stops}} {
		took := map[int]float64{}
		for _, n := range kind.sizes {
			row := fmt.Sprintf("%s/%d", kind.row, n)
			progress(row)
			out, err := b.planLarge(ctx, n, kind.model)
			if err != nil {
				return fmt.Errorf("fieldscale %d %s: %w", n, kind.model, err)
			}
			took[n] = out.CPU
			b.add(row+"/seconds", "s", "", out.CPU, math.NaN(), math.NaN(), math.NaN())
			b.add(row+"/memory", "MB", "", out.Megabytes, math.NaN(), math.NaN(), math.NaN())
			b.add(row+"/replan", "s", "whole plan", out.Replan, out.CPU, out.Replan/out.CPU, math.NaN())
			b.add(row+"/replanned", "load", "whole plan", out.Replanned, out.Load, out.Replanned/out.Load, math.NaN())
			if half := took[n/2]; half > 0 {
				b.add(row+"/doubling", "s", fmt.Sprint(n/2), out.CPU, half, out.CPU/half, math.NaN())
			}
			b.report.Notes = append(b.report.Notes, fmt.Sprintf("%s: %.1f s wall, largest load %g, bound %g", row, out.Wall, out.Load, out.Bound))
		}
	}
	return nil
}

// largePlan is what fieldscale prints.
type largePlan struct{ Wall, CPU, Replan, Replanned, Megabytes, Load, Bound float64 }

func (b *fieldBench) planLarge(ctx context.Context, n int, model string) (out largePlan, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, workDir, "fieldscale"), fmt.Sprint(n), model)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}
