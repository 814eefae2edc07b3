package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"millrace.dev/bench/harness"
)

// growth compares reductions of the whole model by more and more ranks with that by two. All numbers of ranks take turns
// in one race: a machine that is slow for a while is so for each of them. A variant has its crews for itself, one for
// each number of ranks, and they end with its race: all variants at once would not fit into memory.
func (b *groupBench) growth(ctx context.Context, variant string) error {
	ranks, pace := []int{2, 4, 8, 16}, harness.Pace{Burst: 300 * time.Millisecond, Rounds: 9}
	if b.quick {
		ranks, pace = ranks[:3], harness.Pace{Burst: 50 * time.Millisecond, Rounds: 3}
	}
	progress("growth/" + variant)
	var crews crew
	defer crews.close()
	var cmds []harness.Command
	for _, n := range ranks {
		cmds = append(cmds, b.ranksOf(fmt.Sprintf("growth-%d", n), "ours"))
	}
	peers, err := crews.start(ctx, cmds...)
	if err != nil {
		return err
	}
	field := make([]*harness.Entrant, len(ranks))
	for i, n := range ranks {
		field[i] = &harness.Entrant{Peer: peers[i], Row: fmt.Sprintf("%s/n=%d", wholeModel, n), Variant: variant, Label: fmt.Sprintf("millrace, n=%d", n)}
	}
	if err := harness.Race(ctx, field, pace); err != nil {
		return err
	}
	b.report.Stand("growth/"+variant, field)
	for i, n := range ranks[1:] {
		b.report.Rows = append(b.report.Rows, grown(fmt.Sprintf("growth/n=%d/%s", n, variant), n, field[1+i], field[0]))
	}
	return nil
}

// grown is the row of t(n)/(n-1) over t(2). The ratio is the median of those of the rounds.
func grown(name string, n int, many, two *harness.Entrant) harness.Row {
	others := float64(n - 1)
	row := figure(name, "ms", 1e3*many.Median(harness.Wall)/others)
	row.Peer, row.Who = 1e3*two.Median(harness.Wall), two.Label
	if err := cmp.Or(many.Failure, two.Failure); err != nil {
		row.Missing = err.Error()
		return row
	}
	ratios := make([]float64, min(len(many.Bursts), len(two.Bursts)))
	for i := range ratios {
		ratios[i] = harness.Wall.Of(many.Bursts[i]) / others / harness.Wall.Of(two.Bursts[i])
	}
	row.Ratio, row.Spread = harness.Median(ratios), harness.Scatter(ratios)
	return row
}
