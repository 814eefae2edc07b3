package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/cmd/millrace/internal/crew"
	"millrace.dev/internal/rundir"
)

func groupCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Look at the workers that train a run, and change how many there are",
		Long: `Look at the workers that train a run together, change how many there are, and prove
afterwards that they have trained as one.

RUN is the directory of a run that millrace train --workers works on, on this machine.`,
	}
	cmd.AddCommand(groupStatusCommand(c), groupResizeCommand(c), groupDrainCommand(c), groupReplayCommand(c))
	return cmd
}

func openControl(path string) (*crew.Control, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	return crew.OpenControl(dir)
}

func groupStatusCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "status RUN",
		Short: "Say what each worker does and what it waits for",
		Args:  exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			control, err := openControl(args[0])
			if err != nil {
				return err
			}
			s, err := control.Status(cmd.Context())
			if err != nil {
				return err
			}
			return c.result(s, func(w io.Writer) error { return printStatus(w, s) })
		},
	}
}

func printStatus(w io.Writer, s crew.Status) error {
	if s.Target == 0 {
		fmt.Fprintf(w, "%s: the last %s on this machine", s.Run, plural(len(s.Workers), "worker"))
	} else {
		fmt.Fprintf(w, "%s: %d of %s on this machine", s.Run, len(s.Workers), plural(s.Target, "worker"))
	}
	if s.Missing != "" {
		fmt.Fprintf(w, " (missing %s)", s.Missing)
	}
	fmt.Fprintln(w)
	rows := [][]string{}
	for _, x := range s.Workers {
		row := []string{x.Name, strconv.Itoa(x.PID), "", "", doing(x)}
		if x.Silent == "" && x.Rank >= 0 {
			row[2], row[3] = fmt.Sprintf("%d of %d", x.Rank, len(x.Members)), count(int64(x.Step))
		}
		rows = append(rows, row)
	}
	if err := table(w, []string{"WORKER", "PID", "RANK", "STEP", "DOES"}, rows); err != nil {
		return err
	}
	for _, x := range s.Workers {
		if x.Silent == "" && x.Rank >= 0 {
			_, err := fmt.Fprintf(w, "view %d (%s): %s\n", x.Epoch, strings.Join(x.Members, " "), x.Reason)
			return err
		}
	}
	return nil
}

// doing says what a worker does and what it waits for.
func doing(x crew.WorkerStatus) string {
	switch {
	case x.Silent != "":
		return "gives no answer: " + strings.ReplaceAll(x.Silent, "\n", ": ")
	case x.Finishing:
		return "has trained to the end, measures the model and writes the results"
	case x.Trained:
		return "has trained to the end, waits for the results to be written"
	}
	text := x.Doing
	if x.Waiting != "" {
		text += ", waiting " + x.Waiting
	}
	if x.Leaving {
		text += "; leaving"
	}
	if x.Stale > 0 {
		text += fmt.Sprintf("; late frames dropped: %s", count(int64(x.Stale)))
	}
	if x.Refused > 0 {
		text += fmt.Sprintf("; connections refused: %s", count(int64(x.Refused)))
	}
	if x.Trouble != "" {
		text += "; trouble: " + x.Trouble
	}
	return text
}

func groupResizeCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "resize N RUN",
		Short: "Change how many workers this machine gives a run",
		Long: `Change how many workers this machine gives a run that is under way. New ones take the
state from the others while these train on; those that are too many, the youngest first,
leave after the step under way.`,
		Args: exactly("N", "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 || n > crew.MaxWorkers {
				return usagef("N must be 1 to %d, not %q", crew.MaxWorkers, args[0])
			}
			control, err := openControl(args[1])
			if err != nil {
				return err
			}
			if err := control.Resize(cmd.Context(), n); err != nil {
				return err
			}
			return c.result(map[string]int{"workers": n}, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, workers(n), "asked for")
				return err
			})
		},
	}
}

func groupDrainCommand(c *console) *cobra.Command {
	worker := ""
	cmd := &cobra.Command{
		Use:   "drain RUN",
		Short: "Make workers leave in good order after the step under way",
		Long: `Make all workers of a run on this machine, or the one named by --worker, leave in good
order after the step under way. The others, if there are any, go on; the run can be resumed.`,
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			control, err := openControl(args[0])
			if err != nil {
				return err
			}
			stalled, err := control.Drain(cmd.Context(), worker)
			if err != nil {
				return err
			}
			what := worker
			if what == "" {
				what = "all workers"
			}
			answer := map[string]string{"leaving": what}
			if stalled != "" {
				answer["stalled"] = stalled
			}
			return c.result(answer, func(w io.Writer) error {
				when := "after the step under way"
				if stalled != "" {
					when = "soon, with what they have saved: the workers cannot go on now (" + stalled + ")"
				}
				_, err := fmt.Fprintf(w, "%s leaving %s\n", what, when)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&worker, "worker", "", "`name` of the only one to leave")
	return cmd
}

func groupReplayCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "replay RUN",
		Short: "Take the steps of a run's workers again in one process, and compare the bits",
		Long: `Take the steps of a run's workers again: one process computes every worker's share of
every step, adds in the order in which they added, and compares its numbers with theirs, to the
bit. It also checks that every sample of every epoch was used exactly once. It reads the logs
that the workers have written under RUN/workers; the run may have ended or still be going on.`,
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := rundir.Open(args[0])
			if err != nil {
				return err
			}
			var bar *progress
			at := int64(0)
			p, err := crew.Replay(cmd.Context(), dir, func(done, total int) {
				if at = int64(done); bar == nil {
					bar = c.progress("replaying", "steps", int64(total))
				}
				bar.set(at, "")
			})
			if bar != nil && c.width > 0 {
				bar.finish(at, "")
			}
			if p != nil {
				err = errors.Join(c.result(p, func(w io.Writer) error { return printReplay(w, p) }), err)
			}
			return err
		},
	}
}

func printReplay(w io.Writer, p *crew.Proof) error {
	used := fmt.Sprintf("each of %s used once in each of %s", count(int64(p.Samples)), plural(p.Epochs, "epoch"))
	if p.Epochs == 0 {
		used = fmt.Sprintf("none of %s used twice in the epoch begun", count(int64(p.Samples)))
	}
	_, err := fmt.Fprintf(w, "%s: %s of %s in %s taken again\nsamples: %s\nbits: the same at all %s that were compared; %016x after step %s\n",
		p.Run, plural(p.Steps, "step"), workers(len(p.Workers)), plural(p.Views, "view"), used, plural(p.Compared, "point"), p.Hash, count(int64(p.Steps)))
	return err
}
