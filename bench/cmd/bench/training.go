package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"millrace.dev/bench/harness"
)

// trainBatch is the number of samples of a training step of all workers together.
const trainBatch = 64

// lengths are the numbers of steps of two runs, whose difference is free of their starts and ends.
type lengths struct{ short, long int }

// training compares the time of a training step of two workers with that of one. The limit is what two runs that have
// nothing to do with each other take at a time, each for its half of the samples.
func (b *groupBench) training(ctx context.Context) error {
	progress("training with one and two workers")
	steps, rounds := lengths{50, 350}, 5
	if b.quick {
		steps, rounds = lengths{20, 80}, 1
	}
	entrants := []func(ctx context.Context, steps int) (float64, error){
		func(ctx context.Context, steps int) (float64, error) { return b.train(ctx, 1, trainBatch, steps) },
		func(ctx context.Context, steps int) (float64, error) { return b.train(ctx, 2, trainBatch, steps) },
		b.trainApart,
	}
	times := make([][]float64, len(entrants))
	for round := range rounds {
		for turn := range entrants {
			who := (round + turn) % len(entrants)
			t, err := timeSteps(ctx, entrants[who], steps)
			if err != nil {
				return err
			}
			times[who] = append(times[who], t)
		}
	}
	one, two, apart := harness.Median(times[0]), harness.Median(times[1]), harness.Median(times[2])
	row := figure("train/lenet/n=2", "ms", 1e3*two)
	row.Peer, row.Who, row.Ratio, row.Limit = 1e3*one, "millrace, one worker", two/one, 1e3*apart
	b.report.Rows = append(b.report.Rows, row)
	return b.communication(ctx, apart)
}

// communication compares the computation of a step, in seconds, with a step that is only the reduction and the commit of
// as many gradients.
func (b *groupBench) communication(ctx context.Context, compute float64) error {
	what := reduction{fmt.Sprintf("%.0fKiB", math.Ceil(4*work["lenet"].params/1024)), 2, []string{driver}, nil, 50 * time.Millisecond, 9}
	if err := b.race(ctx, what); err != nil {
		return err
	}
	b.report.Rows = append(b.report.Rows, figure("train/lenet/n=2/compute", "times", compute/b.alone[what.row()+"/"+driver]))
	return nil
}

// timeSteps is the time of one step, as a long run takes longer than a short one.
func timeSteps(ctx context.Context, train func(ctx context.Context, steps int) (float64, error), steps lengths) (float64, error) {
	short, err := train(ctx, steps.short)
	if err != nil {
		return 0, err
	}
	long, err := train(ctx, steps.long)
	return (long - short) / float64(steps.long-steps.short), err
}

// trainApart trains in two processes that know nothing of each other, and gives the time of the slower one.
func (b *groupBench) trainApart(ctx context.Context, steps int) (seconds float64, err error) {
	var times [2]float64
	var errs [2]error
	var both sync.WaitGroup
	for i := range times {
		both.Go(func() { times[i], errs[i] = b.train(ctx, 1, trainBatch/2, steps) })
	}
	both.Wait()
	return max(times[0], times[1]), errors.Join(errs[:]...)
}

func (b *groupBench) train(ctx context.Context, workers, batch, steps int) (seconds float64, err error) {
	dir, err := os.MkdirTemp("", "millrace-train-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	args := []string{"train", "--model", "lenet", "--optimizer", "momentum", "--batch", strconv.Itoa(batch), "--steps", strconv.Itoa(steps),
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
