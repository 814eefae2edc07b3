package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace.dev/internal/rundir"
	"millrace.dev/learn/job"
)

func trainCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a network on labelled images or rows of numbers",
		Long: `Train a network on labelled images or rows of numbers, with every core.

Without flags it trains a small convolutional network on an extract of Fashion-MNIST that is
part of the program. The run's directory, a new one under runs/ or the one given with --out,
receives the settings, the decisions, checkpoints, and at the end the model, its learning
curves and a report. A run that was interrupted goes on with --resume and ends with the same
weights as one that was not.`,
	}
	asked := trainFlags(cmd)
	f := cmd.Flags()
	out := f.String("out", "", "`directory` of the run, new or empty (default: a new one under runs/)")
	resume := f.String("resume", "", "go on with the run in this `directory`, with its own settings")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *resume != "" {
			return c.resume(cmd, asked, *resume)
		}
		s, err := asked()
		if err != nil {
			return err
		}
		j, err := job.New(s)
		if err != nil {
			return err
		}
		dir, err := rundir.Create(job.Verb, *out, time.Now())
		if err != nil {
			return err
		}
		return c.train(cmd.Context(), j, dir, func() error { return j.Start(dir, os.Args[1:]) })
	}
	return cmd
}

// resume goes on with a run, unless settings were given that are not its own.
func (c *console) resume(cmd *cobra.Command, asked func() (job.Settings, error), path string) error {
	given := givenFlags(cmd)
	for _, name := range []string{"out", "config"} {
		if slices.Contains(given, name) {
			return usagef("--%s and --resume exclude each other", name)
		}
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return err
	}
	s, err := job.Load(dir)
	if err != nil {
		return err
	}
	want, err := asked()
	if err != nil {
		return err
	}
	if slices.Contains(given, "threads") {
		s.Threads = want.Threads // changes no result
	}
	differences, err := want.Differences(s, given)
	if err != nil {
		return err
	}
	if len(differences) > 0 {
		return badInputf("run %s cannot go on with other settings: %s", path, strings.Join(differences, "; "))
	}
	j, err := job.New(s)
	if err != nil {
		return err
	}
	return c.train(cmd.Context(), j, dir, func() error { return j.Resume(dir) })
}

func givenFlags(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().Visit(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// train begins a run with begin and carries it through.
func (c *console) train(ctx context.Context, j *job.Job, dir rundir.Dir, begin func() error) (err error) {
	defer func() { err = errors.Join(err, j.Close()) }()
	if err := begin(); err != nil {
		_ = os.Remove(dir.Path()) // of a new run nothing may have arrived; else it stays
		return err
	}
	if left := j.Set.Skipped; len(left) > 0 {
		c.remark("%s files were left out, the first one because %s", count(int64(len(left))), left[0])
	}
	c.remark("training %s (%s weights) on %s samples of %s; the run is in %s",
		j.Net.Name, count(int64(j.Net.NumParams())), count(int64(j.Samples)), j.DataName(), dir.Path())
	if at := j.State(); at.Step > 0 {
		c.remark("going on after step %s of %s", count(int64(at.Step)), count(int64(j.Steps)))
	}
	live := newTrainProgress(c, j)
	r, err := j.Run(ctx, live)
	live.finish()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped after step %s; go on with millrace train --resume %s: %w",
			count(int64(j.State().Step)), dir.Path(), err)
	}
	if err != nil {
		return err
	}
	return c.result(r, func(w io.Writer) error { return printTrained(w, r) })
}

func printTrained(w io.Writer, r *job.Result) error {
	early := ""
	if r.Stopped {
		early = ", stopped early"
	}
	fmt.Fprintf(w, "%s on %s: %.2f %% of %s test samples right (top 5: %.2f %%), loss %.4g\n",
		r.Network, r.Data, 100*r.TestAccuracy, count(int64(r.TestSamples)), 100*r.TestTop5, r.TestLoss)
	fmt.Fprintf(w, "%s steps in %.1f s%s\n\n", count(int64(r.Steps)), r.Seconds, early)
	_, err := fmt.Fprintf(w, "model   %s\nreport  %s\ncurves  %s\n", r.Model, r.Report, r.Curves)
	return err
}
