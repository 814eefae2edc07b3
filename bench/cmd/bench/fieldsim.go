package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"millrace.dev/field"
	"millrace.dev/field/mission"
	"millrace.dev/field/sim"
	"millrace.dev/field/survey"
)

// simulator compares the first death of packet-level simulations without loss with the formula.
func (b *fieldBench) simulator(ctx context.Context) error {
	seeds := uint64(5)
	if b.quick {
		seeds = 1
	}
	for _, model := range lifeModels {
		progress("simulator/" + model.name)
		var apart, rounds []float64
		for _, shape := range survey.Shapes {
			for seed := range seeds {
				in, err := lifeInstance(shape, model.weights, seed, model.change)
				if err != nil {
					return err
				}
				simulated, computed, err := firstDeath(ctx, in, seed)
				if err != nil {
					return fmt.Errorf("%s, %s, seed %d: %w", model.name, shape, seed, err)
				}
				apart, rounds = append(apart, math.Abs(simulated/computed-1)), append(rounds, simulated)
			}
		}
		b.add("simulator/"+model.name, "of the formula's", "", slices.Max(apart), math.NaN(), math.NaN(), math.NaN())
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("simulator/%s: first deaths after %.0f to %.0f rounds on %d fields; median distance from the formula %.2f %%",
			model.name, slices.Min(rounds), slices.Max(rounds), len(rounds), 100*median(apart)))
	}
	return nil
}

// firstDeath is when the first sensor dies, in rounds, as simulated and as computed.
func firstDeath(ctx context.Context, in *field.Instance, seed uint64) (simulated, computed float64, err error) {
	for i := range in.Sensors {
		in.Sensors[i].Energy = 5
	}
	plan, err := field.Solve(ctx, in, field.Options{Seed: seed, Partial: true, Effort: -1})
	if err != nil {
		return 0, 0, err
	}
	res, err := sim.Run(ctx, &mission.Mission{Instance: in, Plan: plan, Vehicle: mission.Rover}, sim.Options{Seed: seed, Until: sim.FirstDeath})
	if err != nil {
		return 0, 0, err
	}
	if res.FirstDeath == nil {
		return 0, 0, fmt.Errorf("nobody died in %v rounds", res.Rounds)
	}
	return *res.FirstDeath, field.Estimate(in, plan).FirstDeath, nil
}
