package main

import (
	"context"
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
	"millrace.dev/control"
	"millrace.dev/learn/train"
)

// trainBatch is the number of samples of a training step of all workers together.
const trainBatch = 64

// trained is a model that is trained by one worker and by two.
type trained struct {
	model         string
	steps, rounds int
}

// training compares the time of a training step of two workers with that of one.
func (b *groupBench) training(ctx context.Context) error {
	runs := []trained{{"lenet", 250, 9}, {"resnet20", 30, 5}}
	if b.quick {
		runs = []trained{{"lenet", 100, 1}}
	}
	for _, t := range runs {
		progress("training " + t.model + " with one and two workers")
		if err := b.together(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// together trains a model in turn with one worker, with two, and in two runs that have nothing to do with each other, each for
// its half of the samples: the time of these is the limit. The ratio is the median of those of the rounds.
func (b *groupBench) together(ctx context.Context, t trained) error {
	entrants := []func() (float64, error){
		func() (float64, error) { return b.train(ctx, t, 1, trainBatch) },
		func() (float64, error) { return b.train(ctx, t, 2, trainBatch) },
		func() (float64, error) { return b.trainApart(ctx, t) },
	}
	times, ratios := make([][]float64, len(entrants)), make([]float64, t.rounds)
	for round := range t.rounds {
		for turn := range entrants {
			who := (round + turn) % len(entrants)
			seconds, err := entrants[who]()
			if err != nil {
				return err
			}
			times[who] = append(times[who], seconds)
		}
		ratios[round] = times[1][round] / times[0][round]
	}
	one, two, apart := harness.Median(times[0]), harness.Median(times[1]), harness.Median(times[2])
	row := figure("train/"+t.model+"/n=2", "ms", 1e3*two)
	row.Peer, row.Who, row.Ratio, row.Limit = 1e3*one, "millrace, one worker", harness.Median(ratios), 1e3*apart
	row.Spread = harness.Scatter(ratios)
	b.report.Rows = append(b.report.Rows, row)
	return b.communication(ctx, t.model, apart)
}

// communication compares the computation of a model's step, in seconds, with a step that is only the reduction and the
// commit of as many gradients.
func (b *groupBench) communication(ctx context.Context, model string, compute float64) error {
	what := reduction{fmt.Sprintf("%.0fKiB", math.Ceil(4*work[model].params/1024)), 2, []string{driver}, nil, 50 * time.Millisecond, 9}
	if err := b.race(ctx, what); err != nil {
		return err
	}
	b.report.Rows = append(b.report.Rows, figure("train/"+model+"/n=2/compute", "times", compute/b.alone[what.row()+"/"+driver]))
	return nil
}

// trainApart trains in two processes that know nothing of each other, and gives the time of the slower one's step.
func (b *groupBench) trainApart(ctx context.Context, t trained) (seconds float64, err error) {
	var times [2]float64
	var errs [2]error
	var both sync.WaitGroup
	for i := range times {
		both.Go(func() { times[i], errs[i] = b.train(ctx, t, 1, trainBatch/2) })
	}
	both.Wait()
	return max(times[0], times[1]), errors.Join(errs[:]...)
}

// train gives the time of a step, without the start and the end of the run.
func (b *groupBench) train(ctx context.Context, t trained, workers, batch int) (seconds float64, err error) {
	dir, err := os.MkdirTemp("", "millrace-train-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	run := filepath.Join(dir, "run")
	args := []string{"train", "--model", t.model, "--optimizer", "momentum", "--batch", strconv.Itoa(batch), "--steps", strconv.Itoa(t.steps),
		"--threads", "1", "--valid-fraction", "0", "--checkpoint-every", "0", "--out", run, "--json"}
	journal := filepath.Join(run, "events.jsonl")
	if workers > 1 {
		args = append(args, "--workers", strconv.Itoa(workers))
		journal = filepath.Join(run, "workers", "1", "w0", "events.jsonl")
	}
	if err := exec.CommandContext(ctx, filepath.Join(b.dir, workDir, "millrace"), args...).Run(); err != nil {
		return 0, fmt.Errorf("millrace train with %d worker(s): %w", workers, err)
	}
	rates, err := throughputs(journal)
	if err == nil && len(rates) < 3 {
		err = fmt.Errorf("%d worker(s) trained %d steps in %d measured windows", workers, t.steps, len(rates))
	}
	if err != nil {
		return 0, err
	}
	return float64(batch) / harness.Median(rates[1:]), nil // the first steps are slower
}

// throughputs are the samples per second that a run has written down, about one figure for each half second.
func throughputs(journal string) (rates []float64, err error) {
	_, err = control.ReadJournal(journal, func(r control.Record) error {
		if r.Signal.Name == train.SignalThroughput {
			rates = append(rates, r.Signal.Value)
		}
		return nil
	})
	return rates, err
}
