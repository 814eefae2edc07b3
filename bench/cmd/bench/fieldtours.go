package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"millrace.dev/field"
)

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
