package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"millrace.dev/bench/harness"
)

// recoveryBench kills workers, ours and torchrun's in turn.
type recoveryBench struct {
	*setting
	report *harness.Report
	hunts  map[string]*outcome // by name of a hunt
	order  []string
}

// deaths is a hunt: so many kills a round, of workers of one kind.
type deaths struct {
	name  string
	kills int
	args  []string // of cmd/recover
}

// outcome is what came of a hunt in all rounds.
type outcome struct {
	kills  []recovered
	totals []recoveryTotal
}

// recovered and recoveryTotal are what cmd/recover prints.
type recovered struct {
	Aim, Phase                           string
	Lost, Asked, Ruled, View, Plane, All float64
	First                                float64
}

type recoveryTotal struct {
	Steps                 int
	Samples               uint64
	Step, Compute, Reduce float64
	Version, Verified     string

	Quiet, Entering, Following []float64
}

const (
	torchrun = "torchrun"
	frozen   = "n=4/service/freeze" // workers are stopped, not killed: their silence tells, not the end of their connections
	sockets  = "sockets/n=4"        // workers share no memory, as if each had a machine of its own
)

const (
	// gradientBytes is the size of the gradient that the workers reduce.
	gradientBytes = 100e6
	// socketBytes is what three survivors on a ring move at least, all on this machine: each sends two thirds of
	// the vector twice, which is copied into a socket and out of it, and reads its own gradients.
	socketBytes = (3*2*2./3*4 + 3) * gradientBytes
)

func (b *recoveryBench) list() []deaths {
	ours := func(name string, n, kills, quick int, authority, aim string) deaths {
		if b.quick {
			kills = quick
		}
		return deaths{name, kills, []string{"group", "-workers", fmt.Sprint(n), "-authority", authority, "-aim", aim}}
	}
	all := []deaths{
		ours("n=4/service", 4, 14, 4, "service", "random"),
		{torchrun, 3, []string{"torchrun", "-workers", "4"}},
		ours("n=4/majority", 4, 8, 2, "majority", "random"),
		ours("n=8/service", 8, 8, 0, "service", "random"),
		ours("n=2/service", 2, 8, 2, "service", "random"),
		ours("n=4/service/reduce", 4, 5, 1, "service", "reduce"),
		ours("n=4/service/token", 4, 5, 1, "service", "token"),
		ours("n=4/service/view", 4, 5, 1, "service", "view"),
		ours("n=4/service/join", 4, 5, 1, "service", "join"),
		ours(frozen, 4, 2, 1, "service", "freeze"),
		ours(sockets, 4, 6, 2, "service", "random"),
	}
	all[len(all)-1].args = append(all[len(all)-1].args, "-apart")
	if b.quick {
		all[1].kills = 1
	}
	return slices.DeleteFunc(all, func(d deaths) bool { return d.kills == 0 })
}

// recovery measures how soon the others go on when a worker is killed.
func recovery(ctx context.Context, s *setting, r *harness.Report) error {
	b := &recoveryBench{setting: s, report: r, hunts: map[string]*outcome{}}
	var peers crew
	defer peers.close()
	limits, err := s.limits(ctx, &peers, r)
	if err != nil {
		return err
	}
	rounds := 4
	if b.quick {
		rounds = 1
	}
	for round := range rounds {
		for _, d := range b.list() {
			progress(fmt.Sprintf("round %d of %d: %d kills, %s", round+1, rounds, d.kills, d.name))
			if err := b.hunt(ctx, d, round); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
		}
	}
	b.rows(limits)
	return nil
}

// hunt runs one round of a hunt.
func (b *recoveryBench) hunt(ctx context.Context, d deaths, round int) error {
	args := append(slices.Clone(d.args), "-kills", fmt.Sprint(d.kills))
	if d.name == torchrun {
		args = append(args, "-python", python)
	} else {
		args = append(args, "-seed", fmt.Sprint(round+1))
	}
	cmd := exec.CommandContext(ctx, filepath.Join(workDir, "recover"), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	o := b.hunts[d.name]
	if o == nil {
		o = &outcome{}
		b.hunts[d.name] = o
		b.order = append(b.order, d.name)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var l struct {
			Type string
			recovered
			recoveryTotal
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("it prints %q: %w", lines.Text(), err)
		}
		if l.Type == "kill" {
			o.kills = append(o.kills, l.recovered)
		} else {
			o.totals = append(o.totals, l.recoveryTotal)
		}
	}
	return cmd.Wait()
}

// rows turns outcomes into rows.
func (b *recoveryBench) rows(limits *harness.Limits) {
	peer := b.hunts[torchrun].all()
	var ours []recovered
	phases := map[string][]float64{}
	for _, name := range b.order {
		if name == torchrun {
			continue
		}
		o := b.hunts[name]
		if name == frozen {
			b.spread(name, o.all(), 1000)
			continue
		}
		if name == sockets {
			b.spread(name, o.all(), 1e3*limits.Seconds(len(b.cpus), 0, socketBytes, int(socketBytes)))
			b.steps(name, o)
			b.parts(name, o.kills)
			continue
		}
		ours = append(ours, o.kills...)
		for _, k := range o.kills {
			phases[k.Phase] = append(phases[k.Phase], k.All)
		}
		n := 4.0
		switch name {
		case "n=2/service":
			n = 2
		case "n=8/service":
			n = 8
		}
		// Everything in no time but one reduction over the survivors: their gradients are read, the mean is written.
		least := 1e3 * limits.Seconds(len(b.cpus), 0, n*gradientBytes, int(n*gradientBytes))
		b.spread(name, o.all(), least)
		b.steps(name, o)
	}
	all := (&outcome{kills: ours}).all()
	b.spread("all", all, math.NaN())
	row := figure("all/torchrun", "ms", harness.Median(all))
	row.Peer, row.Who = harness.Median(peer), torchrun
	row.Ratio = row.Ours / row.Peer
	b.report.Rows = append(b.report.Rows, row)
	for _, phase := range []string{"compute", "reduce", "token", "update", "view", "join"} {
		if t := phases[phase]; len(t) > 0 {
			b.report.Rows = append(b.report.Rows,
				figure(fmt.Sprintf("killed in %s (%d)/p50", phase, len(t)), "ms", harness.Median(t)),
				figure(fmt.Sprintf("killed in %s (%d)/max", phase, len(t)), "ms", slices.Max(t)))
		}
	}
	b.parts("all", ours)
	for _, group := range []string{"n=4", "n=8"} {
		b.joining(group)
	}
	steps := 0
	for _, name := range b.order {
		for _, t := range b.hunts[name].totals {
			steps += t.Steps
		}
	}
	b.report.Machine = append(b.report.Machine, fmt.Sprintf("CPU: %s, %d CPUs", harness.CPUModel(), len(b.cpus)))
	b.report.Peers = append(b.report.Peers, fmt.Sprintf("torchrun %s: 4 ranks, gloo, a model of 110 parameters, nothing restored; --monitor-interval 0.1, OMP_NUM_THREADS=1; %d kills, p50 %.0f ms, max %.0f ms",
		b.hunts[torchrun].totals[0].Version, len(peer), harness.Median(peer), slices.Max(peer)))
	b.report.Notes = append(b.report.Notes,
		fmt.Sprintf("%d workers were killed with SIGKILL, and each was replaced by one that joined; figures are milliseconds from the kill until the last survivor has committed a step in the next view (of torchrun: until the last rank has taken a step)", len(ours)),
		"a model of 25 M parameters (100 MB of gradient), all workers on this machine, each a process; the survivors are the same processes before and after",
		"goroutines at a time as millrace train has it for workers of one thread: three, and one where workers have a core each, as two of them have on two cores, but while their view changes",
		"random: at an instant drawn evenly over 400 ms; reduce: the worker kills itself as it begins to wait for the sum; token, view: as it sends such a frame; view and join kill two: one more while the others agree on the view without the first, or while the one before is replaced",
		"freeze: the worker is stopped with SIGSTOP, which counts as death after a second of silence: that second is the limit",
		"sockets: each worker is told that it has a machine of its own, and all share this one: the gradients go round a ring of Unix sockets, and a death is seen when the dead one's connections end, after its memory is gone; these kills are not among all",
		"step while one joins: of members, from the commit before a newcomer is let in to the last one before it takes a share; in the first of them (it is let in) the view changes and the step under way is reduced again",
		fmt.Sprintf("every run was replayed serially from the step logs, %d steps in all: the same bits as on all survivors, and each sample used exactly once", steps),
		"the machine's limit is one reduction over the survivors at the speed of the memory, everything else in no time")
}

func (o *outcome) all() []float64 {
	var t []float64
	for _, k := range o.kills {
		t = append(t, k.All)
	}
	return t
}

// spread adds the rows of the times of many kills.
func (b *recoveryBench) spread(name string, t []float64, limit float64) {
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
		row := figure(name+"/"+q.name, "ms", harness.Quantile(t, q.at))
		row.Limit = limit
		b.report.Rows = append(b.report.Rows, row)
	}
}

// steps adds what undisturbed steps of a hunt take.
func (b *recoveryBench) steps(name string, o *outcome) {
	var step, compute, reduce []float64
	for _, t := range o.totals {
		step, compute, reduce = append(step, t.Step), append(compute, t.Compute), append(reduce, t.Reduce)
	}
	b.report.Rows = append(b.report.Rows, figure(name+"/step", "ms", harness.Median(step)))
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("%s: of an undisturbed step's %.0f ms, %.0f ms are computation and %.0f ms the rest of the reduction and the commit",
		name, harness.Median(step), harness.Median(compute), harness.Median(reduce)))
}

// joining adds what steps of members take while a newcomer's state is on its way, beside undisturbed ones.
func (b *recoveryBench) joining(group string) {
	var quiet, entering, following []float64
	for _, name := range []string{group + "/service", group + "/majority"} {
		if o := b.hunts[name]; o != nil {
			for _, t := range o.totals {
				quiet, entering, following = append(quiet, t.Quiet...), append(entering, t.Entering...), append(following, t.Following...)
			}
		}
	}
	for _, s := range []struct {
		name  string
		steps []float64
	}{{"one joins", append(slices.Clone(entering), following...)}, {"it is let in", entering}, {"its state comes", following}} {
		for _, q := range []struct {
			name string
			at   float64
		}{{"p50", 0.5}, {"p99", 0.99}} {
			if len(s.steps) == 0 {
				continue
			}
			row := figure(fmt.Sprintf("step/%s while %s (%d)/%s", group, s.name, len(s.steps), q.name), "ms", harness.Quantile(s.steps, q.at))
			row.Peer, row.Who = harness.Quantile(quiet, q.at), "ours, undisturbed"
			row.Ratio = row.Ours / row.Peer
			b.report.Rows = append(b.report.Rows, row)
		}
	}
}

// parts adds where the time goes after kills.
func (b *recoveryBench) parts(name string, kills []recovered) {
	for _, p := range []struct {
		name string
		of   func(recovered) float64
	}{
		{"until all know of the loss", func(k recovered) float64 { return k.Lost }},
		{"until the view is in force", func(k recovered) float64 { return k.View }},
		{"until data can move", func(k recovered) float64 { return k.Plane }},
		{"until one has committed", func(k recovered) float64 { return k.First }},
	} {
		var t []float64
		for _, k := range kills {
			if v := p.of(k); v > 0 {
				t = append(t, v)
			}
		}
		b.report.Rows = append(b.report.Rows, figure(name+"/"+p.name+"/p50", "ms", harness.Median(t)), figure(name+"/"+p.name+"/p99", "ms", harness.Quantile(t, 0.99)))
	}
}
