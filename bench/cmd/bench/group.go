package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"millrace.dev/bench/harness"
)

// groupBench is one run of the bench group: all-reduces between processes.
type groupBench struct {
	*setting
	crew   crew
	report *harness.Report
	ours   *harness.Peer            // registered
	calls  *harness.Peer            // ours in place: workers of a group, whose heartbeats no other variant pays for
	rings  *harness.Peer            // ours over sockets
	driver *harness.Peer            // ours with the commit of each step
	others map[string]*harness.Peer // by library
	alone  map[string]float64       // medians of ours by row and variant, in seconds
}

// libraries are the peers, in the order of the report.
var libraries = []string{"gloo", "mpi", "kungfu"}

// reduction is what all entrants of a race do.
type reduction struct {
	what     string // a size as cmd/allreduce knows it
	ranks    int
	variants []string // of ours
	peers    []string // libraries
	burst    time.Duration
	rounds   int
}

func (r reduction) row() string { return fmt.Sprintf("%s/n=%d", r.what, r.ranks) }

const (
	wholeModel = "resnet50-fused" // 102 MB in one vector
	wholeBytes = 4 * 25_557_032
	allTensors = "resnet50" // the same in 161 parts
	registered = "registered"
	inPlace    = "in-place"
	ringUnix   = "ring-unix"
	ringTCP    = "ring-tcp"
	driver     = "group"
)

// reductions lists the races. Of many ranks, libraries that no bar is about take no part: all entrants' buffers are in
// memory at a time.
func (b *groupBench) reductions() []reduction {
	large, small, rounds := 300*time.Millisecond, 50*time.Millisecond, 9
	if b.quick {
		large, small, rounds = 50*time.Millisecond, 10*time.Millisecond, 3
	}
	list := []reduction{
		{"1KiB", 2, []string{inPlace, registered, ringUnix, driver}, libraries, small, 2*rounds + 1},
		{"256KiB", 2, []string{inPlace, registered, ringUnix}, libraries, small, 2*rounds + 1},
		{wholeModel, 2, []string{inPlace, registered, ringUnix, ringTCP, driver}, libraries, large, rounds},
		{wholeModel, 4, []string{inPlace, registered, ringUnix, ringTCP, driver}, libraries, large, rounds},
		{allTensors, 2, []string{registered, inPlace}, libraries, large, rounds},
		{allTensors, 4, []string{registered, inPlace}, libraries, large, rounds},
	}
	if !b.quick {
		list = append(list,
			reduction{"1KiB", 4, []string{inPlace, registered, ringUnix, driver}, libraries, small, 2*rounds + 1},
			reduction{wholeModel, 8, []string{inPlace, registered, ringUnix}, []string{"gloo", "kungfu"}, large, 5},
			reduction{wholeModel, 16, []string{inPlace, registered, ringUnix}, []string{"gloo"}, large, 5})
	}
	return list
}

// group races reductions of vectors against gloo, Open MPI and KungFu.
func group(ctx context.Context, s *setting, r *harness.Report) error {
	b := &groupBench{setting: s, report: r, others: map[string]*harness.Peer{}, alone: map[string]float64{}}
	defer b.crew.close()
	progress("starting the peers")
	if err := b.start(ctx); err != nil {
		return err
	}
	for _, what := range b.reductions() {
		if err := b.race(ctx, what); err != nil {
			return err
		}
	}
	if err := b.doublings(ctx); err != nil {
		return err
	}
	for _, ranks := range []int{2, 4} {
		if err := b.unfused(ctx, ranks); err != nil {
			return err
		}
	}
	b.token(2)
	if !b.quick {
		b.token(4)
	}
	for _, v := range []string{registered, inPlace, ringUnix} {
		if err := b.growth(ctx, v); err != nil {
			return err
		}
	}
	if err := b.kept(ctx); err != nil {
		return err
	}
	if err := b.training(ctx); err != nil {
		return err
	}
	b.crew.describe(r)
	r.Machine = append(r.Machine, fmt.Sprintf("CPU: %s, %d CPUs", harness.CPUModel(), len(s.cpus)))
	r.Notes = append(r.Notes,
		"figures in milliseconds per reduction, of the slowest rank; ratio is ours over the peer's: lower is better; every rank is a process, and all ranks share the CPUs",
		"in-place: any buffer of the caller, as the peers do it, by a call of a group's workers, those of several tensors side by side; registered: gradients in a vector that the other processes can read, the mean in another, as in training; ring-unix, ring-tcp: over sockets, as between machines",
		wholeModel+": 25,557,032 float32, 102 MB; "+allTensors+": its 161 tensors",
		"group: whole steps of a group of workers with nothing to compute: registered, and the commit; token: what the commit takes, over such a step",
		"train: 64 samples a step in all, one thread a worker; two workers against one; ratio: the median of those of the rounds; times: medians of the runs' own half-second measurements; the machine's limit is what two runs that know nothing of each other take at a time, with 32 samples a step each; compute: that time over the time of a step of the group that has nothing to compute",
		"unfused: a step whose gradients get ready tensor by tensor, as fast as they can be said to be, over one in which they are ready at once",
		"doubling: the worst time of a buffer over that of one half as long, 1 KiB to 4 MiB",
		"growth: t(n)/(n-1) over t(2), with "+wholeModel+"; all numbers of ranks take turns in one race; ratio: the median of those of the rounds",
		"memory: of the worker that takes most of it after the last burst, of pages that several have mapped its part of each; over two vectors and 64 MiB",
		"ring bytes: sent to one neighbour, headers included, over 2S(n-1)/n")
	return nil
}

func (b *groupBench) start(ctx context.Context) error {
	var cmds []harness.Command
	own := []string{"memory", "calls", "rings", "driver"}
	for _, name := range append(own, libraries...) {
		library := name
		if len(cmds) < len(own) {
			library = "ours"
		}
		cmds = append(cmds, b.ranksOf(name, library))
	}
	peers, err := b.crew.start(ctx, cmds...)
	if err != nil {
		return err
	}
	b.ours, b.calls, b.rings, b.driver = peers[0], peers[1], peers[2], peers[3]
	for i, name := range libraries {
		b.others[name] = peers[len(own)+i]
	}
	return nil
}

// ranksOf is the command of a crew that starts ranks of a library.
func (b *groupBench) ranksOf(name, library string) harness.Command {
	return harness.Command{Name: "crew-" + name, Args: []string{filepath.Join(b.dir, workDir, "allreduce"), "crew", library}}
}

// race adds the rows of one reduction: each of our variants against each library.
func (b *groupBench) race(ctx context.Context, what reduction) error {
	progress(what.row())
	var field []*harness.Entrant
	for _, v := range what.variants {
		crew := b.ours
		switch v {
		case inPlace:
			crew = b.calls
		case ringUnix, ringTCP:
			crew = b.rings
		case driver:
			crew = b.driver
		}
		field = append(field, &harness.Entrant{Peer: crew, Row: what.row(), Variant: v, Label: "millrace " + v})
	}
	for _, name := range what.peers {
		field = append(field, &harness.Entrant{Peer: b.others[name], Row: what.row(), Variant: "all-reduce", Label: b.others[name].Info.Name})
	}
	if err := harness.Race(ctx, field, harness.Pace{Burst: what.burst, Rounds: what.rounds}); err != nil {
		return err
	}
	b.report.Stand(what.row(), field)
	for i, v := range what.variants {
		e := field[i]
		b.alone[what.row()+"/"+v] = e.Median(harness.Wall)
		for j, name := range what.peers {
			b.report.Rows = append(b.report.Rows,
				against(strings.Join([]string{what.row(), v, name}, "/"), e, field[len(what.variants)+j], harness.Wall, math.NaN()))
		}
		if strings.HasPrefix(v, "ring") && len(e.Bursts) > 0 && what.what == wholeModel {
			b.report.Rows = append(b.report.Rows, figure(what.row()+"/"+v+"/bytes", "of 2S(n-1)/n", e.Bursts[0].Loss))
		}
		if v == driver && len(e.Bursts) > 0 && what.what == wholeModel {
			b.report.Rows = append(b.report.Rows, memory(what.row()+"/memory", e.Bursts))
		}
	}
	return nil
}

// figure is a row without a peer.
func figure(name, unit string, value float64) harness.Row {
	row := harness.Row{Row: name, Unit: unit, Ours: value, Peer: math.NaN(), Ratio: math.NaN(), Limit: math.NaN(), Spread: math.NaN(), Clock: harness.Wall}
	if math.IsNaN(value) {
		row.Missing = "not measured"
	}
	return row
}

// doublings looks for a size that costs much more than the next smaller one.
func (b *groupBench) doublings(ctx context.Context) error {
	var field []*harness.Entrant
	for kib := 1; kib <= 4096; kib *= 2 {
		field = append(field, &harness.Entrant{Peer: b.calls, Row: fmt.Sprintf("%dKiB/n=2", kib), Variant: inPlace, Label: "millrace in-place"})
	}
	progress("doubling sizes")
	pace := harness.Pace{Burst: 20 * time.Millisecond, Rounds: 15}
	if b.quick {
		pace = harness.Pace{Burst: 5 * time.Millisecond, Rounds: 5}
	}
	if err := harness.Race(ctx, field, pace); err != nil {
		return err
	}
	worst := math.NaN()
	for i, e := range field[1:] {
		if r := e.Median(harness.Wall) / field[i].Median(harness.Wall); math.IsNaN(worst) || r > worst {
			worst = r
		}
	}
	b.report.Rows = append(b.report.Rows, figure("doubling/n=2/in-place", "times", worst))
	return nil
}

// memory is the row of what a worker of the whole model takes, over what its gradients, their sum and a program do.
func memory(name string, bursts []harness.Burst) harness.Row {
	row := figure(name, "MiB", bursts[len(bursts)-1].Loss)
	row.Peer, row.Who = 2*wholeBytes/(1<<20)+64, "two vectors and 64 MiB"
	row.Ratio = row.Ours / row.Peer
	return row
}

// kept looks for memory that steps of a group keep.
func (b *groupBench) kept(ctx context.Context) error {
	progress("memory of many steps")
	e := &harness.Entrant{Peer: b.driver, Row: "1KiB/n=2", Variant: driver, Label: "millrace " + driver, Quantum: 1000}
	if err := harness.Race(ctx, []*harness.Entrant{e}, harness.Pace{Burst: time.Millisecond, Rounds: 11}); err != nil {
		return err
	}
	growth := math.NaN()
	if e.Failure == nil {
		steps := 0
		for _, burst := range e.Bursts[1:] {
			steps += burst.Steps
		}
		growth = (e.Bursts[len(e.Bursts)-1].Loss - e.Bursts[0].Loss) / float64(steps) * 1000
		b.report.Notes = append(b.report.Notes, fmt.Sprintf("kept/n=2: what memory of a group's worker has grown by from the first burst of short steps to the last, %d steps later", steps))
	}
	b.report.Rows = append(b.report.Rows, figure("kept/n=2", "MiB a 1000 steps", growth))
	return nil
}

// unfused compares steps whose gradients come tensor by tensor with those in which they are there at once. Both take
// turns, and are loaded in both orders: what is loaded first lies elsewhere in memory.
func (b *groupBench) unfused(ctx context.Context, ranks int) error {
	pace := harness.Pace{Burst: 200 * time.Millisecond, Rounds: 9}
	if b.quick {
		pace = harness.Pace{Burst: 50 * time.Millisecond, Rounds: 5}
	}
	progress(fmt.Sprintf("unfused/n=%d", ranks))
	parts, whole := &harness.Entrant{}, &harness.Entrant{Label: "millrace, one vector"} // with all bursts
	for turn := range 2 {
		field := make([]*harness.Entrant, 2)
		for i, what := range []string{allTensors, wholeModel} {
			field[i] = &harness.Entrant{Peer: b.ours, Row: fmt.Sprintf("%s/n=%d", what, ranks), Variant: registered, Label: "millrace " + registered}
		}
		order := slices.Clone(field)
		if turn > 0 {
			slices.Reverse(order)
		}
		if err := harness.Race(ctx, order, pace); err != nil {
			return err
		}
		parts.Bursts, whole.Bursts = append(parts.Bursts, field[0].Bursts...), append(whole.Bursts, field[1].Bursts...)
		parts.Failure = cmp.Or(parts.Failure, field[0].Failure, field[1].Failure)
	}
	b.report.Rows = append(b.report.Rows, against(fmt.Sprintf("unfused/n=%d/registered", ranks), parts, whole, harness.Wall, math.NaN()))
	return nil
}

// token tells what the commit adds to a step. That does not depend on the vector, and is seen best with a short one.
func (b *groupBench) token(ranks int) {
	at := func(what, variant string) float64 {
		if t, ok := b.alone[fmt.Sprintf("%s/n=%d/%s", what, ranks, variant)]; ok {
			return t
		}
		return math.NaN()
	}
	row := figure(fmt.Sprintf("token/n=%d", ranks), "ms", 1e3*(at("1KiB", driver)-at("1KiB", registered)))
	row.Peer, row.Who = 1e3*at(wholeModel, driver), "millrace, a step of 102 MB"
	row.Ratio = row.Ours / row.Peer
	if math.IsNaN(row.Ratio) {
		row.Missing = "not measured"
	}
	b.report.Rows = append(b.report.Rows, row)
}
