package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"millrace.dev/bench/harness"
)

// fieldBench is one run of the bench field: small optima, tours, the distributed protocol, the simulator against its
// formula and ns-3, scale, lifetimes against the baselines.
type fieldBench struct {
	*setting
	report *harness.Report
}

// fieldPlan races the field planner.
func fieldPlan(ctx context.Context, s *setting, r *harness.Report) error {
	b := &fieldBench{s, r}
	r.Machine = append(r.Machine, harness.CPUModel())
	versions, err := os.ReadFile(filepath.Join(s.dir, workDir, "versions.txt"))
	if err != nil {
		return err
	}
	r.Peers = append(r.Peers, strings.Split(strings.TrimSpace(string(versions)), "\n")...)
	for _, part := range []func(context.Context) error{b.optima, b.tours, b.distributed, b.simulator, b.ns3, b.scale, b.lifetimes} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	r.Notes = append(r.Notes,
		"evenness: Jain's index of the energy used, ours over that of the evenest baseline",
		"lifetime: rounds until the first sensor dies (first-order radio model), ratio is the median over the seeds of ours over the baseline's on the same instance; ± is the share by which the worst seed lies below that median",
		"600 sensors, 40 m of range, tours of at most four sides of 600 m with everything; the planner makes 300 improvement steps. Models: listen (the sink hears all sensors within range of a stop, and stopping costs no time), turn (5 s a stop), dwell (5 s a stop, half a second a packet, in whole seconds), hotspot and heavy (the same with a corner that sends five times as much, with few sensors that send up to twenty times as much), buffer (only the rendezvous sensor uploads)",
		"baselines use the same radio graph, tour optimiser, unconnected parts and energy model; their sensors send by fewest hops or along their tree as published; in listen and turn all sensors in range of their stops upload there directly",
		"optima: HiGHS, proven, from bench/field/milp.py; tours: lengths, ours over the peer's, of the tour that the planner returns for isolated sensors that must all be visited; seconds of CPU in the notes",
		"simulator: the largest distance of a simulated first death from the formula's, sensors with 5 J, no loss",
		"scale: CPU seconds (wall time on an idle machine), a square field with about 16 neighbours a sensor, tours of four sides; replan: CPU seconds to adapt the plan after one sensor moved, over those of the whole plan")
	return nil
}

// add appends a row of figures.
func (b *fieldBench) add(row, unit, who string, ours, peer, ratio, spread float64) {
	b.report.Rows = append(b.report.Rows, harness.Row{Row: row, Unit: unit, Who: who, Ours: ours, Peer: peer, Ratio: ratio, Spread: spread, Limit: math.NaN()})
}

func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
