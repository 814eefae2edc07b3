package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"millrace.dev/bench/harness"
	"millrace.dev/field"
	"millrace.dev/field/survey"
)

// fieldBench is one run of the bench field: lifetimes against the baselines, small optima, tours, scale.
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
	for _, part := range []func(context.Context) error{b.optima, b.tours, b.scale, b.lifetimes} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	r.Notes = append(r.Notes,
		"evenness: Jain's index of the energy used, ours over that of the evenest baseline",
		"lifetime: rounds until the first sensor dies (first-order radio model), ratio is the median over the seeds of ours over the baseline's on the same instance; ± is the share by which the worst seed lies below that median",
		"600 sensors, 40 m of range, tours of at most four sides of 600 m; the planner makes 300 improvement steps. Models: listen (the sink hears all sensors within range of a stop, and stopping costs no time), turn (the same, 5 s a stop), buffer (only the rendezvous sensor uploads)",
		"baselines use the same radio graph, tour optimiser, unconnected parts and energy model; their sensors send by fewest hops or along their tree as published; in listen and turn all sensors in range of their stops upload there directly",
		"optima: HiGHS, proven, from bench/field/milp.py; tours: lengths, ours over the peer's, of the tour that the planner returns for isolated sensors that must all be visited; seconds of CPU in the notes",
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

// lifetimes compares with every baseline on many fields of each shape.
func (b *fieldBench) lifetimes(ctx context.Context) error {
	seeds := uint64(50)
	if b.quick {
		seeds = 2
	}
	plans, late := 0, 0
	for _, model := range []string{"listen", "turn", "buffer"} {
		for _, shape := range survey.Shapes {
			progress(fmt.Sprintf("lifetime/%s/%s", model, shape))
			ours, others, ratios, even := []float64{}, map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
			for seed := range seeds {
				in, err := fieldInstance(model, shape, seed)
				if err != nil {
					return err
				}
				plan, err := field.Solve(ctx, in, field.Options{Seed: seed, Partial: true, Effort: 300})
				if err != nil {
					return err
				}
				life := field.Estimate(in, plan)
				ours = append(ours, life.FirstDeath)
				plans++
				for _, base := range field.Baselines() {
					p, err := base.Plan(ctx, in, field.Options{Seed: seed, Partial: true})
					if err != nil {
						return fmt.Errorf("%s: %w", base.Name, err)
					}
					other := field.Estimate(in, p)
					others[base.Name] = append(others[base.Name], other.FirstDeath)
					ratios[base.Name] = append(ratios[base.Name], life.FirstDeath/other.FirstDeath)
					even[base.Name] = append(even[base.Name], life.Jain/other.Jain)
					plans++
				}
				for _, t := range plan.Tours {
					if t.Total > in.Sink.Deadline {
						late++
					}
				}
			}
			closest, rival := math.Inf(1), ""
			for _, base := range field.Baselines() {
				m := median(ratios[base.Name])
				b.add(fmt.Sprintf("lifetime/%s/%s/%s", model, shape, base.Name), "rounds", base.Name, median(ours), median(others[base.Name]), m, 1-slices.Min(ratios[base.Name])/m)
				if e := median(even[base.Name]); e < closest {
					closest, rival = e, base.Name
				}
			}
			b.add(fmt.Sprintf("evenness/%s/%s", model, shape), "Jain", rival, math.NaN(), math.NaN(), closest, math.NaN())
		}
	}
	b.add("late tours", "of all", "", float64(late), math.NaN(), math.NaN(), math.NaN())
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("lifetime and evenness rest on %d seeds a shape and model, %d plans, every one verified by field.Check", seeds, plans))
	return nil
}

func fieldInstance(model, shape string, seed uint64) (*field.Instance, error) {
	const side = 600
	sensors, err := survey.Generate(survey.Field{Shape: shape, N: 600, Side: side, Weights: "uniform", Energy: 0.5, Seed: seed})
	if err != nil {
		return nil, err
	}
	in := &field.Instance{Sensors: sensors, Range: 40, Energy: field.FirstOrder(), Sink: field.Sink{Speed: 1, Deadline: 4 * side * time.Second}}
	switch model {
	case "turn":
		in.Sink.Turn = 5 * time.Second
	case "buffer":
		in.Upload = field.Buffer
	}
	return in, nil
}

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

// tourPeer is the Python process with OR-tools and LKH.
type tourPeer struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *bufio.Reader
}

func (b *fieldBench) startTours(ctx context.Context) (*tourPeer, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, workDir, "field-env", "bin", "python"), filepath.Join(b.dir, "field", "tsp.py"))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return &tourPeer{cmd, json.NewEncoder(in), bufio.NewReader(out)}, cmd.Start()
}

// ask returns the length of the peer's tour and the CPU seconds that it took.
func (p *tourPeer) ask(solver string, points []field.Point, seconds float64) (length, cpu float64, err error) {
	list := make([][2]float64, len(points))
	for i, q := range points {
		list[i] = [2]float64{q.X, q.Y}
	}
	if err := p.in.Encode(map[string]any{"solver": solver, "points": list, "seconds": seconds}); err != nil {
		return 0, 0, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", solver, err)
	}
	var answer struct {
		Order   []int
		Seconds float64
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return 0, 0, err
	}
	seen := make([]bool, len(points))
	for k, i := range answer.Order {
		if i < 0 || i >= len(points) || seen[i] {
			return 0, 0, fmt.Errorf("%s: not a tour", solver)
		}
		seen[i] = true
		length += points[i].Dist(points[answer.Order[(k+1)%len(answer.Order)]])
	}
	if len(answer.Order) != len(points) {
		return 0, 0, fmt.Errorf("%s: a tour of %d of %d places", solver, len(answer.Order), len(points))
	}
	return length, answer.Seconds, nil
}

// tours compares the lengths of tours through all of some places.
func (b *fieldBench) tours(ctx context.Context) error {
	peer, err := b.startTours(ctx)
	if err != nil {
		return err
	}
	defer peer.cmd.Wait()
	defer peer.cmd.Process.Kill()
	for _, c := range []struct {
		places, times int
		solver        string
		seconds       float64
	}{{50, 10, "ortools", 2}, {200, 10, "ortools", 5}, {200, 10, "lkh", 0}, {2000, 3, "lkh", 0}} {
		if b.quick {
			c.times, c.seconds = 1, 1
			if c.places > 200 {
				continue
			}
		}
		progress(fmt.Sprintf("tour/%d/%s", c.places, c.solver))
		var ours, theirs, ratios []float64
		var ourTime, theirTime float64
		for seed := range uint64(c.times) {
			points := places(c.places, seed)
			length, took, err := visitAll(ctx, points)
			if err != nil {
				return err
			}
			other, otherTook, err := peer.ask(c.solver, points, c.seconds)
			if err != nil {
				return err
			}
			ours, theirs, ratios = append(ours, length), append(theirs, other), append(ratios, length/other)
			ourTime, theirTime = ourTime+took, theirTime+otherTook
		}
		b.add(fmt.Sprintf("tour/%d/%s", c.places, c.solver), "m", c.solver, median(ours), median(theirs), slices.Max(ratios), 0)
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("tour/%d/%s: worst of %d instances; median ratio %.4f; %.2f s for our whole plan (wall), %.2f s CPU for the peer's tour",
			c.places, c.solver, c.times, median(ratios), ourTime/float64(c.times), theirTime/float64(c.times)))
	}
	return nil
}

// places are random points of a square of 10 km.
func places(n int, seed uint64) []field.Point {
	rng := rand.New(rand.NewPCG(seed, 1))
	points := make([]field.Point, n)
	for i := range points {
		points[i] = field.Point{X: 1e4 * rng.Float64(), Y: 1e4 * rng.Float64()}
	}
	return points
}

// visitAll plans for isolated sensors at the points, which must all be visited, and returns the length of the tour.
func visitAll(ctx context.Context, points []field.Point) (length, seconds float64, err error) {
	in := &field.Instance{Range: 1e-3, Upload: field.Buffer, Sink: field.Sink{Speed: 1, Deadline: 1000 * time.Hour}}
	for i, p := range points {
		in.Sensors = append(in.Sensors, field.Sensor{ID: fmt.Sprint(i), Pos: p, Weight: 1, Energy: 1})
	}
	start := time.Now()
	plan, err := field.Solve(ctx, in, field.Options{})
	if err != nil {
		return 0, 0, err
	}
	if len(plan.Stops) != len(points) {
		return 0, 0, fmt.Errorf("a plan with %d stops for %d isolated sensors", len(plan.Stops), len(points))
	}
	return plan.Tours[0].Length, time.Since(start).Seconds(), nil
}

// scale plans ever larger fields in processes of their own.
func (b *fieldBench) scale(ctx context.Context) error {
	sizes := []int{50_000, 100_000, 250_000, 500_000, 1_000_000}
	if b.quick {
		sizes = []int{25_000, 50_000}
	}
	took := map[int]float64{}
	for _, n := range sizes {
		progress(fmt.Sprintf("scale/%d", n))
		cmd := exec.CommandContext(ctx, filepath.Join(b.dir, workDir, "fieldscale"), fmt.Sprint(n))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("fieldscale %d: %w", n, err)
		}
		var out struct{ Wall, CPU, Replan, Megabytes, Load, Bound float64 }
		if err := json.Unmarshal(text, &out); err != nil {
			return err
		}
		took[n] = out.CPU
		row := fmt.Sprintf("scale/%d", n)
		b.add(row+"/seconds", "s", "", out.CPU, math.NaN(), math.NaN(), math.NaN())
		b.add(row+"/memory", "MB", "", out.Megabytes, math.NaN(), math.NaN(), math.NaN())
		b.add(row+"/replan", "s", "whole plan", out.Replan, out.CPU, out.Replan/out.CPU, math.NaN())
		if half := took[n/2]; half > 0 {
			b.add(row+"/doubling", "s", fmt.Sprint(n/2), out.CPU, half, out.CPU/half, math.NaN())
		}
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("scale/%d: %.1f s wall, largest load %g, bound %g", n, out.Wall, out.Load, out.Bound))
	}
	return nil
}
