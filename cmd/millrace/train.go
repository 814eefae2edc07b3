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

	"millrace.dev/cmd/millrace/internal/crew"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
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
weights as one that was not.

With --workers it trains with several processes that survive the loss of any of them, and with
--join it helps the workers of another machine: see millrace group --help.`,
	}
	ask := trainFlags(cmd)
	crewed := togetherFlags(cmd)
	f := cmd.Flags()
	out := f.String("out", "", "`directory` of the run, new or empty (default: a new one under runs/)")
	resume := f.String("resume", "", "go on with the run in this `directory`, with its own settings")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkProcessor(); err != nil {
			return err
		}
		if *resume != "" {
			return c.resume(cmd, ask, crewed, *resume)
		}
		if err := crewed.check(crewed.asked()); err != nil {
			return err
		}
		if len(crewed.join) > 0 {
			return c.join(cmd, ask, crewed, *out)
		}
		s, err := ask.settings()
		if err != nil {
			return err
		}
		j, err := job.New(s)
		if err != nil {
			return ask.blame(err)
		}
		dir, err := createRun(j, *out)
		if err != nil {
			return err
		}
		if crewed.asked() {
			l, err := crewed.launcher(j, dir, crew.Setup{})
			if err == nil {
				err = j.Declare(dir, os.Args[1:])
			}
			if err != nil {
				_ = os.Remove(dir.Path()) // nothing may have arrived; else it stays
				return err
			}
			return c.trainTogether(cmd.Context(), j, dir, l)
		}
		return c.train(cmd.Context(), j, dir, func() error { return j.Start(dir, os.Args[1:]) })
	}
	return cmd
}

// checkProcessor refuses a vector level that this machine does not have.
func checkProcessor() error {
	if _, err := cpu.ReadProcessor(); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// createRun makes the directory of a new run, where there is room for it.
func createRun(j *job.Job, out string) (rundir.Dir, error) {
	if err := j.CheckRoom(out); err != nil {
		return rundir.Dir{}, err
	}
	dir, err := rundir.Create(job.Verb, out, time.Now())
	if errors.Is(err, rundir.ErrEarlierRun) {
		return dir, fmt.Errorf("%w; go on with it by --resume %s, or choose another --out", err, shellWord(out))
	}
	return dir, err
}

// ofThisMachine are the flags of train that may go with --join: what is trained, the others tell.
var ofThisMachine = []string{"join", "workers", "threads", "data", "out", "listen", "keys", "notice", "metrics", "json"}

// join trains with the workers of another run.
func (c *console) join(cmd *cobra.Command, ask *asked, crewed *together, out string) error {
	for _, name := range givenFlags(cmd) {
		if !slices.Contains(ofThisMachine, name) {
			return usagef("--%s and --join exclude each other: the workers tell what they train", name)
		}
	}
	about, err := crewed.askAbout(cmd.Context())
	if err != nil {
		return err
	}
	s := about.Settings
	s.Threads = ask.flags.Threads
	if cmd.Flags().Changed("data") {
		s.Data = ask.flags.Data // the same samples at another place
	}
	j, err := job.New(s)
	if err != nil {
		return err
	}
	dir, err := createRun(j, out)
	if err != nil {
		return err
	}
	l, err := crewed.launcher(j, dir, crew.Setup{})
	if err != nil {
		return err
	}
	if err := j.Declare(dir, os.Args[1:]); err != nil {
		return err
	}
	l.About, l.Join = about, crewed.addresses()
	return c.trainTogether(cmd.Context(), j, dir, l)
}

// resume goes on with a run, unless settings were given that are not its own.
func (c *console) resume(cmd *cobra.Command, ask *asked, crewed *together, path string) error {
	given := givenFlags(cmd)
	for _, name := range []string{"out", "config", "join"} {
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
	want, err := ask.settings()
	if err != nil {
		return err
	}
	if slices.Contains(given, "threads") {
		s.Threads = want.Threads // changes no result
	}
	differences, err := want.Differences(s, given)
	if err != nil {
		return ask.blame(err)
	}
	if len(differences) > 0 {
		return badInputf("run %s cannot go on with other settings: %s", path, strings.Join(differences, "; "))
	}
	j, err := job.New(s)
	if err != nil {
		return err
	}
	if err := j.CheckRoom(path); err != nil {
		return err
	}
	past, several, err := crew.LastTime(dir)
	if err != nil {
		return err
	}
	if err := crewed.check(several); err != nil {
		return err
	}
	if several || crewed.asked() {
		l, err := crewed.launcher(j, dir, past)
		if err != nil {
			return err
		}
		return c.trainTogether(cmd.Context(), j, dir, l)
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
	c.introduce(j, dir, j.State(), j.Origin(), "")
	live := newTrainProgress(c, j, j.State())
	r, err := j.Run(ctx, live)
	live.finish()
	if errors.Is(err, context.Canceled) {
		return &stoppedError{fmt.Sprintf("interrupted after step %s; go on with millrace train --resume %s",
			count(int64(j.State().Step)), shellWord(dir.Path()))}
	}
	var unwritten *job.WriteError
	if errors.As(err, &unwritten) {
		return fmt.Errorf("%w; then go on with millrace train --resume %s", err, shellWord(dir.Path()))
	}
	if err != nil {
		return err
	}
	return c.result(r, func(w io.Writer) error { return printTrained(w, r) })
}

// introduce says what is trained, how, and where it goes on from.
func (c *console) introduce(j *job.Job, dir rundir.Dir, at train.State, from train.Origin, with string) {
	if left := j.Set.Skipped; len(left) > 0 {
		c.remark("%s files were left out, the first one because %s", count(int64(len(left))), left[0])
	}
	c.remark("training %s (%s weights) on %s samples of %s%s; the run is in %s",
		j.Net.Name, count(int64(j.Net.NumParams())), count(int64(j.Samples)), j.DataName(), with, dir.Path())
	if at.Step == 0 && j.FewSteps() {
		c.remark("so few samples make few steps an epoch: a --batch smaller than %d makes more of them", j.Settings.Batch)
	}
	for _, damaged := range from.Damaged {
		c.remark("%v; going on from %s", damaged, from.Path)
	}
	if at.Step > 0 {
		c.remark("going on after step %s of %s", count(int64(at.Step)), count(int64(j.Steps)))
	}
}

func printTrained(w io.Writer, r *job.Result) error {
	fmt.Fprintf(w, "%s on %s: %.2f %% of %s test samples right%s, loss %.4g\n",
		r.Network, r.Data, 100*r.TestAccuracy, count(int64(r.TestSamples)), inTop(r.TestTop5), r.TestLoss)
	fmt.Fprintf(w, "%s steps in %.1f s", count(int64(r.Steps)), r.Seconds)
	if r.Workers > 0 {
		fmt.Fprintf(w, ", at last with %s in view %d", workers(r.Workers), r.Views)
	}
	if r.Stopped {
		fmt.Fprint(w, ", stopped early")
	}
	if r.BestEpoch > 0 {
		fmt.Fprintf(w, "; the weights are those after epoch %d, the best", r.BestEpoch)
	}
	_, err := fmt.Fprintf(w, "\n\nmodel   %s\nreport  %s\ncurves  %s\n", r.Model, r.Report, r.Curves)
	return err
}

// inTop tells the share of samples whose class is among the five most probable, where that says
// anything.
func inTop(share *float64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf(" (top 5: %.2f %%)", 100**share)
}
