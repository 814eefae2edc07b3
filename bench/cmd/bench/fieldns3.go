package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"millrace.dev/bench/harness"
	"millrace.dev/field"
	"millrace.dev/field/mission"
	"millrace.dev/field/sim"
	"millrace.dev/field/survey"
)

const (
	ns3Rounds = 12
	ns3Period = 3600 // seconds from round to round: hardly any frames collide, as in our simulator
	// An acknowledgement on air is 11 bytes with preamble, a full data frame 133.
	ns3Ack = 11.0 / 133
)

// ns3 compares the energy of each sensor in our simulator with what it is by the frames that ns-3 counts on the same routes.
func (b *fieldBench) ns3(ctx context.Context) error {
	row := harness.Row{Row: "ns3/energy", Unit: "Spearman", Who: "ns-3 lr-wpan", Ours: math.NaN(), Peer: math.NaN(), Ratio: math.NaN(), Spread: math.NaN(), Limit: math.NaN()}
	program := filepath.Join(b.dir, workDir, "ns3_routes")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		row.Missing = "ns-3 is not installed (Debian: libns3-dev)"
		b.report.Rows = append(b.report.Rows, row)
		return nil
	}
	seeds := uint64(3)
	if b.quick {
		seeds = 1
	}
	var alike, delivered, times []float64
	for _, shape := range survey.Shapes {
		for seed := range seeds {
			progress(fmt.Sprintf("ns3/%s/%d", shape, seed))
			c, err := compareWithNs3(ctx, program, shape, survey.Weights[seed%uint64(len(survey.Weights))], seed)
			if err != nil {
				return fmt.Errorf("ns3, %s, seed %d: %w", shape, seed, err)
			}
			alike, delivered, times = append(alike, c.alike), append(delivered, c.delivered), append(times, c.times)
		}
	}
	row.Ours = slices.Min(alike)
	b.report.Rows = append(b.report.Rows, row)
	b.report.Notes = append(b.report.Notes, fmt.Sprintf(
		"ns3/energy: lowest rank correlation of the sensors' energies on %d fields of 60 sensors, %d rounds, ours from field/sim without loss, ns-3's frames and acknowledgements at the energy of our CC2420; median %.3f; ns-3 delivers at least %.2f %%, and its sensors use %.2f times our energy in the median: acknowledgements are what ours leaves out",
		len(alike), ns3Rounds, median(alike), 100*slices.Min(delivered), median(times)))
	return nil
}

// ns3Outcome is how alike the energies of one field are.
type ns3Outcome struct {
	alike     float64 // Spearman's rank correlation
	delivered float64 // part of ns-3's packets
	times     float64 // ns-3's energy over ours, median over the sensors
}

func compareWithNs3(ctx context.Context, program, shape, weights string, seed uint64) (out ns3Outcome, err error) {
	sensors, err := survey.Generate(survey.Field{Shape: shape, N: 60, Side: 160, Weights: weights, Energy: 1000, Seed: seed})
	if err != nil {
		return out, err
	}
	in := &field.Instance{Sensors: sensors, Range: 40, Energy: field.CC2420(), Sink: field.Sink{Speed: 2, Deadline: 2 * time.Minute, Turn: 3 * time.Second}}
	plan, err := field.Solve(ctx, in, field.Options{Seed: seed, Partial: true, Effort: 300})
	if err != nil {
		return out, err
	}
	energy, err := steadyEnergy(ctx, in, plan, seed)
	if err != nil {
		return out, err
	}
	frames, part, err := ns3Frames(ctx, program, in, plan)
	if err != nil {
		return out, err
	}
	out.delivered = part
	var ours, theirs, times []float64
	for i, f := range frames {
		if plan.Parent[i] == field.NoRoute {
			continue
		}
		ours = append(ours, energy[i])
		theirs = append(theirs, (f.sent+f.acksSent*ns3Ack)*in.Energy.Tx(0)+(f.received+f.acksReceived*ns3Ack)*in.Energy.Rx())
		times = append(times, theirs[len(theirs)-1]/ours[len(ours)-1])
	}
	out.alike, out.times = spearman(ours, theirs), median(times)
	return out, nil
}

// steadyEnergy is what our simulator's sensors use for sending and receiving in as many rounds as ns-3 runs, after a first one in which
// not yet all packets have come to their stops.
func steadyEnergy(ctx context.Context, in *field.Instance, plan *field.Plan, seed uint64) ([]float64, error) {
	joules := make([]float64, len(in.Sensors))
	for _, run := range []struct {
		rounds int
		sign   float64
	}{{1 + ns3Rounds, 1}, {1, -1}} {
		res, err := sim.Run(ctx, &mission.Mission{Instance: in, Plan: plan, Vehicle: mission.Rover}, sim.Options{Seed: seed, Rounds: run.rounds, Until: sim.AllRounds})
		if err != nil {
			return nil, err
		}
		for i, n := range res.Nodes {
			joules[i] += run.sign * float64(n.Energy.Transmit+n.Energy.Receive) / 1e9
		}
	}
	return joules, nil
}

// ns3Count is what one sensor sent and received in ns-3.
type ns3Count struct{ sent, received, acksSent, acksReceived float64 }

// ns3Frames runs the plan's routes in ns-3; part is how much of the packets arrived.
func ns3Frames(ctx context.Context, program string, in *field.Instance, plan *field.Plan) (counts []ns3Count, part float64, err error) {
	var text bytes.Buffer
	fmt.Fprintln(&text, len(in.Sensors), len(plan.Stops), ns3Rounds, ns3Period)
	for i, s := range in.Sensors {
		packets := s.Weight
		if plan.Parent[i] == field.NoRoute {
			packets = 0
		}
		fmt.Fprintln(&text, s.Pos.X, s.Pos.Y, plan.Parent[i], plan.Stop[i], packets)
	}
	for _, s := range plan.Stops {
		fmt.Fprintln(&text, s.Pos.X, s.Pos.Y)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Stdin, cmd.Stderr = &text, os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		return nil, 0, err
	}
	r := bytes.NewReader(answer)
	counts = make([]ns3Count, len(in.Sensors))
	for i := range counts {
		c := &counts[i]
		if _, err := fmt.Fscan(r, &c.sent, &c.received, &c.acksSent, &c.acksReceived); err != nil {
			return nil, 0, err
		}
	}
	var made, delivered float64
	_, err = fmt.Fscan(r, &made, &delivered)
	return counts, delivered / made, err
}

// spearman is the correlation of the ranks of two lists.
func spearman(a, b []float64) float64 {
	x, y := ranks(a), ranks(b)
	mean := float64(len(a)+1) / 2
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mean) * (y[i] - mean)
		xx += (x[i] - mean) * (x[i] - mean)
		yy += (y[i] - mean) * (y[i] - mean)
	}
	return xy / math.Sqrt(xx*yy)
}

// ranks gives each number its place in order, from 1; equal numbers share the mean of their places.
func ranks(list []float64) []float64 {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(list[i], list[j]) })
	rank := make([]float64, len(list))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && list[order[to]] == list[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			rank[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return rank
}
