package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"millrace.dev/bench/harness"
)

// training compares the time of a training step of two workers with that of one.
func (b *groupBench) training(ctx context.Context) error {
	progress("training with one and two workers")
	short, long, rounds := 50, 350, 5
	if b.quick {
		short, long, rounds = 10, 40, 1
	}
	times := map[int][]float64{}
	for round := range rounds {
		for turn := range 2 {
			workers := 1 + (round+turn)%2
			t, err := b.timeSteps(ctx, workers, short, long)
			if err != nil {
				return err
			}
			times[workers] = append(times[workers], t)
		}
	}
	one, two := harness.Median(times[1]), harness.Median(times[2])
	row := figure("train/lenet/n=2", "ms", 1e3*two)
	row.Peer, row.Who, row.Ratio = 1e3*one, "millrace, one worker", two/one
	b.report.Rows = append(b.report.Rows, row)
	return nil
}

// timeSteps is the time of one step, as a long run takes longer than a short one.
func (b *groupBench) timeSteps(ctx context.Context, workers, short, long int) (float64, error) {
	var seconds [2]float64
	for i, steps := range []int{short, long} {
		var err error
		if seconds[i], err = b.train(ctx, workers, steps); err != nil {
			return 0, err
		}
	}
	return (seconds[1] - seconds[0]) / float64(long-short), nil
}

func (b *groupBench) train(ctx context.Context, workers, steps int) (seconds float64, err error) {
	dir, err := os.MkdirTemp("", "millrace-train-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	args := []string{"train", "--model", "lenet", "--optimizer", "momentum", "--batch", "64", "--steps", strconv.Itoa(steps),
		"--threads", "1", "--valid-fraction", "0", "--checkpoint-every", "0", "--out", filepath.Join(dir, "run"), "--json"}
	if workers > 1 {
		args = append(args, "--workers", strconv.Itoa(workers))
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, workDir, "millrace"), args...)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("millrace train with %d worker(s): %w", workers, err)
	}
	var result struct {
		Seconds float64
		Steps   int
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return 0, err
	}
	if result.Steps != steps {
		return 0, fmt.Errorf("%d worker(s) trained %d steps instead of %d", workers, result.Steps, steps)
	}
	return result.Seconds, nil
}
