package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"millrace.dev/bench/harness"
)

// task is a whole training step: forward, softmax cross-entropy, backward, SGD with momentum 0.9.
type task struct {
	model string
	batch int
}

func (t task) String() string { return fmt.Sprintf("%s/B=%d", t.model, t.batch) }

// work is what a model's step costs at least: flops per sample of forward and backward, without
// the gradient for the input; parameters, and those of the first layer.
var work = map[string]struct{ flops, params, first float64 }{
	"mlp":   {2 * (2*784*256 + 3*256*10), 203530, 200960},
	"lenet": {2 * (2*784*25*32 + 3*(196*800*64+3136*512+512*10)), 1663370, 832},
	"resnet20": {2 * (2*1024*27*16 + 3*(6*1024*144*16+256*144*32+5*256*288*32+64*288*64+5*64*576*64+256*16*32+64*32*64+64*10)),
		272474, 432},
}

// floor is the least time of a step. Every weight is read by the forward pass and, after the first
// layer, by the backward pass; the update reads and writes weight and momentum, which together are
// the working set.
func (t task) floor(l *harness.Limits, threads int) float64 {
	w := work[t.model]
	return l.Seconds(threads, w.flops*float64(t.batch), 4*(6*w.params-w.first), int(4*w.params*2))
}

var tasks = []task{{"mlp", 1}, {"mlp", 4}, {"mlp", 16}, {"mlp", 64}, {"lenet", 4}, {"lenet", 16}, {"lenet", 64}, {"resnet20", 16}}

// variants of the peers that can be best at a model; compiled PyTorch only in whole runs.
func (s *setting) variants(model string) (torch, jax []string) {
	torch, jax = []string{"eager"}, []string{"jit"}
	switch model {
	case "mlp":
		jax = append(jax, "scan")
	case "lenet":
		torch, jax = append(torch, "channels-last"), append(jax, "jit-reshape")
	case "resnet20":
		torch = append(torch, "channels-last")
	}
	if !s.quick {
		torch = append(torch, "compile", "compile-max")
	}
	return torch, jax
}

// stepBench is one run of the bench step.
type stepBench struct {
	*setting
	crew   crew
	report *harness.Report
	limits *harness.Limits
	pace   harness.Pace
}

// step races whole training steps against PyTorch and JAX.
func step(ctx context.Context, s *setting, r *harness.Report) error {
	b := &stepBench{setting: s, report: r, pace: harness.Pace{Burst: 100 * time.Millisecond, Rounds: 15}}
	if s.quick {
		b.pace = harness.Pace{Burst: 20 * time.Millisecond, Rounds: 5}
	}
	defer b.crew.close()
	var err error
	if b.limits, err = s.limits(ctx, &b.crew, r); err != nil {
		return err
	}
	trios, err := b.startAll(ctx)
	if err != nil {
		return err
	}
	for _, t := range trios {
		if err := b.steps(ctx, t); err != nil {
			return err
		}
	}
	if err := b.starts(ctx, task{"lenet", 16}); err != nil {
		return err
	}
	b.crew.describe(r)
	r.Notes = append(r.Notes,
		"figures in milliseconds per step, ratio is ours over the peer's: lower is better; eight batches of random data in turn",
		"peer is the best of the entrants named below (lines …/torch: of PyTorch's); JAX's scan takes the batches out of the program's hands and is shown only")
	return nil
}

// trio is ours, PyTorch and JAX with the same number of threads.
type trio struct {
	threads          int
	ours, torch, jax *harness.Peer
}

// startAll starts all peers at once: importing takes them seconds, and they wait idle afterwards.
func (b *stepBench) startAll(ctx context.Context) ([]trio, error) {
	progress("starting the peers")
	trios := make([]trio, len(threadCounts))
	var cmds []harness.Command
	for _, threads := range threadCounts {
		cmds = append(cmds, b.ours(threads), b.torch(threads), b.jax(threads))
	}
	peers, err := b.crew.start(ctx, cmds...)
	if err != nil {
		return nil, err
	}
	for i, threads := range threadCounts {
		trios[i] = trio{threads, peers[3*i], peers[3*i+1], peers[3*i+2]}
	}
	return trios, nil
}

func (b *stepBench) steps(ctx context.Context, t trio) error {
	for _, what := range tasks {
		if err := b.race(ctx, t, what); err != nil {
			return err
		}
	}
	if t.threads == 1 {
		return b.steady(t.ours)
	}
	return b.hog(ctx, t, task{"lenet", 64})
}

// race adds a task's rows.
func (b *stepBench) race(ctx context.Context, t trio, what task) error {
	name := fmt.Sprintf("%s/%dt", what, t.threads)
	progress(name)
	entrant := func(p *harness.Peer, label, variant string) *harness.Entrant {
		return &harness.Entrant{Peer: p, Row: what.String(), Variant: variant, Label: label}
	}
	ours := entrant(t.ours, "millrace", "step")
	field := []*harness.Entrant{ours}
	torch, jax := b.variants(what.model)
	for _, v := range torch {
		field = append(field, entrant(t.torch, "PyTorch "+v, v))
	}
	for _, v := range jax {
		e := entrant(t.jax, "JAX "+v, v)
		if v == "scan" {
			e.Quantum = 8
		}
		field = append(field, e)
	}
	if err := harness.Race(ctx, field, b.pace); err != nil {
		return err
	}
	for _, e := range field {
		if e.Failure == nil && e.Loaded.Params != work[what.model].params {
			return fmt.Errorf("%s: %s trains %.0f parameters, the model has %.0f", name, e.Label, e.Loaded.Params, work[what.model].params)
		}
	}
	b.report.Stand(name, field)

	clock, floor := clockOf(t.threads), what.floor(b.limits, t.threads)
	isScan := func(e *harness.Entrant) bool { return e.Variant == "scan" }
	isTorch := func(e *harness.Entrant) bool { return e.Peer == t.torch }
	b.report.Rows = append(b.report.Rows,
		against(name, ours, harness.Best(clock, field[1:], func(e *harness.Entrant) bool { return !isScan(e) }), clock, floor))
	if what.model == "mlp" {
		b.report.Rows = append(b.report.Rows,
			against(name+"/torch", ours, harness.Best(clock, field[1:], isTorch), clock, floor),
			against(name+"/scan", ours, harness.Best(clock, field[1:], isScan), clock, floor))
	}
	return nil
}

// against is the row of ours against a peer, in milliseconds.
func against(name string, ours, peer *harness.Entrant, clock harness.Clock, floor float64) harness.Row {
	row := harness.Row{Row: name, Unit: "ms", Clock: clock, Limit: 1e3 * floor,
		Ours: 1e3 * ours.Median(clock), Peer: math.NaN(), Ratio: math.NaN(), Spread: math.NaN()}
	switch {
	case ours.Failure != nil:
		row.Missing = ours.Failure.Error()
	case peer == nil:
		row.Missing = "no peer could do it"
	}
	if peer == nil {
		return row
	}
	row.Who, row.Peer = peer.Label, 1e3*peer.Median(clock)
	if row.Missing == "" {
		row.Ratio, row.Spread = row.Ours/row.Peer, harness.Spread(clock, ours, peer)
	}
	return row
}

// steady counts our allocations and garbage collections in a thousand steps, after as many in which the runtime
// has made what it keeps (a goroutine that waits on a processor for the first time may allocate).
func (b *stepBench) steady(ours *harness.Peer) error {
	const steps = 1000
	counted := []task{{"mlp", 4}}
	if !b.quick {
		counted = append(counted, task{"lenet", 4}, task{"resnet20", 16})
	}
	for _, what := range counted {
		progress("steady/" + what.String())
		e := &harness.Entrant{Peer: ours, Row: what.String(), Variant: "step"}
		var burst harness.Burst
		_, err := ours.Load(e.Row, e.Variant)
		for range 2 {
			if err == nil {
				burst, err = ours.Run(e.Row, e.Variant, steps)
			}
		}
		for _, count := range []struct {
			name  string
			value float64
		}{{"allocations", float64(burst.Mallocs)}, {"collections", float64(burst.GC)}} {
			row := harness.Row{Row: fmt.Sprintf("steady/%s/%s", what, count.name), Unit: "in 1000 steps", Ours: count.value,
				Peer: math.NaN(), Ratio: math.NaN(), Limit: 0, Spread: math.NaN()}
			if err != nil {
				row.Missing, row.Ours = err.Error(), math.NaN()
			}
			b.report.Rows = append(b.report.Rows, row)
		}
		if err == nil {
			err = ours.Drop(e.Row, e.Variant)
		}
		if err := e.Stand(err); err != nil {
			return err
		}
	}
	return nil
}

// hog compares two-thread steps beside a process that never lets go of one of the cores with
// those on cores of their own.
func (b *stepBench) hog(ctx context.Context, t trio, what task) error {
	progress("hog/" + what.String())
	field := func(suffix string) []*harness.Entrant {
		return []*harness.Entrant{
			{Peer: t.ours, Row: what.String(), Variant: "step", Label: "millrace" + suffix},
			{Peer: t.torch, Row: what.String(), Variant: "channels-last", Label: "PyTorch channels-last" + suffix},
		}
	}
	idle, busy := field(", idle"), field(", beside a hog")
	if err := harness.Load(idle, b.pace.Burst); err != nil {
		return err
	}
	for i := range busy {
		busy[i].Follow(idle[i])
	}
	for round := range b.pace.Rounds {
		if err := harness.Turns(ctx, idle, round); err != nil {
			return err
		}
		spin, err := harness.Spin(ctx, harness.LastCPUs(b.cpus, 1), filepath.Join(workDir, "limits"))
		if err != nil {
			return err
		}
		err = harness.Turns(ctx, busy, round)
		spin.Stop()
		if err != nil {
			return err
		}
	}
	if err := harness.Drop(idle); err != nil {
		return err
	}
	name := fmt.Sprintf("hog/%s/%dt", what, t.threads)
	b.report.Stand(name, idle)
	b.report.Stand(name, busy)
	for i, who := range []string{"", "/torch"} {
		row := against(name+who, busy[i], idle[i], harness.Wall, math.NaN())
		// One core and the half of another do what two did.
		row.Limit = 1e3 * idle[i].Median(harness.Wall) * 4 / 3
		row.Who = "itself, idle"
		b.report.Rows = append(b.report.Rows, row)
	}
	return nil
}

// starts compares the time from starting the program to the end of its first step.
func (b *stepBench) starts(ctx context.Context, what task) error {
	progress("start/" + what.String())
	const threads = 2
	var ours, torch, jax []float64
	for round := range b.pace.Rounds {
		t, err := harness.FirstStep(ctx, b.ours(threads), workDir, what.String(), "step")
		if err != nil {
			b.report.Rows = append(b.report.Rows, harness.Row{Row: "start/" + what.String(), Unit: "ms", Clock: harness.Wall, Missing: err.Error(),
				Ours: math.NaN(), Peer: math.NaN(), Ratio: math.NaN(), Limit: math.NaN(), Spread: math.NaN()})
			return nil
		}
		ours = append(ours, 1e3*t.Seconds())
		if round > 2 || b.quick {
			continue
		}
		if t, err = harness.FirstStep(ctx, b.torch(threads), workDir, what.String(), "channels-last"); err != nil {
			return err
		}
		torch = append(torch, 1e3*t.Seconds())
		if t, err = harness.FirstStep(ctx, b.jax(threads), workDir, what.String(), "jit"); err != nil {
			return err
		}
		jax = append(jax, 1e3*t.Seconds())
	}
	row := harness.Row{Row: "start/" + what.String(), Unit: "ms", Clock: harness.Wall, Ours: harness.Median(ours),
		Peer: harness.Median(torch), Who: "PyTorch", Limit: math.NaN(), Spread: math.NaN()}
	if j := harness.Median(jax); j < row.Peer {
		row.Peer, row.Who = j, "JAX"
	}
	if b.quick {
		row.Who = "not measured"
	}
	row.Ratio = row.Ours / row.Peer
	b.report.Rows = append(b.report.Rows, row)
	return nil
}
