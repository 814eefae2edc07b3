package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"millrace.dev/field/lbd"
	"millrace.dev/field/mission"
	"millrace.dev/field/sim"
)

func fieldSimulateCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate PLAN",
		Short: "Run a plan packet by packet and watch batteries, losses and the age of data",
		Long: `Run a plan packet by packet and watch batteries, losses and the age of data.

PLAN is a directory written by "millrace field plan", or its plan.json.

With --distributed the sensors do not get the plan's routes: they run RPS-LB-D, the localized
protocol without positions, over a simulated radio, and the vehicle walks from stop to stop. That is
for one vehicle, without no-fly zones.`,
		Args: exactly("PLAN"),
	}
	var opt sim.Options
	var until, policy string
	distributed, epochs, deaths := false, 40, 0.0
	f := cmd.Flags()
	f.IntVar(&opt.Rounds, "rounds", 0, "at most so many `rounds` (default 1,000,000, or 1,000 when links lose packets: equal rounds are skipped only without losses)")
	f.StringVar(&until, "until", "partition", "stop at first-death, ten-percent, partition or rounds")
	f.Float64Var(&opt.Loss, "loss", 0, "`part` of transmissions that fail, 0 to below 1")
	f.IntVar(&opt.Retries, "retries", 15, "`attempts` after the first one; -1 for none")
	f.IntVar(&opt.Buffer, "buffer", 0, "`packets` that a sensor holds; 0 for no bound")
	f.StringVar(&policy, "overflow", "oldest", "what a full buffer drops: oldest or newest")
	f.Float64Var(&opt.Listen, "listen", 0, "`part` of idle time, 0 to 1, that a radio listens instead of sleeping")
	f.Uint64Var(&opt.Seed, "seed", 1, "`number` from which random choices follow")
	f.BoolVar(&distributed, "distributed", false, "run the localized protocol instead of the plan's routes")
	f.IntVar(&epochs, "epochs", 40, "with --distributed: `epochs` before the tour")
	f.Float64Var(&deaths, "deaths", 0, "with --distributed: `part` of the sensors that dies before the tour")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt.Until, opt.Policy = sim.Until(until), sim.Policy(policy)
		if epochs < 1 || epochs > 10_000 || !(deaths >= 0 && deaths <= 1) {
			return usagef("--epochs %d is not from 1 to 10000, or --deaths %g not from 0 to 1", epochs, deaths)
		}
		if !(opt.Loss >= 0 && opt.Loss < 1) {
			return usagef("--loss %g is not from 0 to below 1", opt.Loss)
		}
		m, err := openPlan(args[0])
		if err != nil {
			return err
		}
		if distributed {
			return simulateProtocol(cmd.Context(), c, m, lbd.Trial{Options: lbd.Options{Seed: opt.Seed, Loss: opt.Loss}, Epochs: epochs, Deaths: deaths})
		}
		if opt.Rounds == 0 && (opt.Loss > 0 || m.Instance.Links != nil) {
			opt.Rounds = 1_000
		}
		return simulatePlan(cmd.Context(), c, m, opt)
	}
	return cmd
}

func simulatePlan(ctx context.Context, c *console, m *mission.Mission, opt sim.Options) error {
	p := c.progress("simulating", "rounds", int64(opt.Rounds))
	opt.Progress = func(rounds int) { p.set(int64(rounds), "") }
	res, err := sim.Run(ctx, m, opt)
	var option *sim.OptionError
	if errors.As(err, &option) {
		return usagef("--%w", err)
	}
	if err != nil {
		return err
	}
	return c.result(res, func(w io.Writer) error { return printSimulation(w, res) })
}

func printSimulation(w io.Writer, r *sim.Result) error {
	b := &strings.Builder{}
	moment := func(what string, at *float64, note string) {
		if at == nil {
			fmt.Fprintf(b, "%s: not within %s rounds\n", what, count(int64(r.Rounds)))
			return
		}
		fmt.Fprintf(b, "%s: after %.1f rounds%s\n", what, *at, note)
	}
	moment("first death", r.FirstDeath, " (sensor "+r.First+")")
	moment("a tenth dead", r.TenPercent, "")
	moment("network falls apart", r.Partition, "")
	fmt.Fprintf(b, "delivered %.2f %% of %s packets; overflowed %s, lost %s, gone with the dead %s\n", 100*r.Ratio, count(r.Made), count(r.Overflow), count(r.Lost), count(r.Buried))
	fmt.Fprintf(b, "age at upload: half within %.0f s, 99 %% within %.0f s\n", r.AgeP50, r.AgeP99)
	spent := float64(max(r.Energy.Spent(), 1))
	fmt.Fprintf(b, "energy: %s J, of it sending %.0f %%, receiving %.0f %%, idle %.0f %%, asleep %.0f %%; evenness (Jain) %.2f\n\n", figure(spent/1e9),
		100*float64(r.Energy.Transmit)/spent, 100*float64(r.Energy.Receive)/spent, 100*float64(r.Energy.Idle)/spent, 100*float64(r.Energy.Sleep)/spent, r.Jain)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	var rows [][]string
	for _, n := range r.HotSpots {
		died := "-"
		if n.Dead {
			died = fmt.Sprintf("%.1f", n.Death)
		}
		rows = append(rows, []string{n.ID, figure(float64(n.Energy.Spent()) / 1e9), died})
	}
	return table(w, []string{"HOT SPOT", "JOULES", "DIED IN ROUND"}, rows)
}

func simulateProtocol(ctx context.Context, c *console, m *mission.Mission, trial lbd.Trial) error {
	p := c.progress("simulating", "epochs", int64(trial.Epochs))
	trial.Progress = func(epoch int) { p.set(int64(epoch), "") }
	res, err := lbd.Run(ctx, m.Instance, trial)
	if err != nil {
		return err
	}
	return c.result(res, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, `largest load %d packets a round with %s beside the root (a central tree: %s; the plan: %s with %s)
%.1f control frames per node in the first epoch, %.1f in the last; %.1f at most; the busiest node sent %d in an epoch
%d of %s have a way to the root, %d are not connected with it; %d batteries ran out
tour: %v of %v for %s m, %s and %s of %s packets, %s skipped
no loop in any of %s events
`, res.MaxLoad, plural(res.Core, "stop"), figure(res.CentralLoad), figure(m.Plan.MaxLoad), plural(len(m.Plan.Stops), "stop"), res.FirstFrames, res.LastFrames, res.MostFrames, res.BusiestFrames,
			res.Routed, plural(res.Alive, "sensor"), res.Apart, res.Exhausted, wholeSeconds(res.Tour.Time.Seconds()), res.Deadline, count(int64(res.Tour.Length+0.5)),
			plural(res.Tour.Stops, "stop"), count(int64(res.Tour.Packets)), count(int64(res.Made)), plural(res.Tour.Skipped, "dead stop"), count(res.Events))
		return err
	})
}
