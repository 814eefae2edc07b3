package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"millrace.dev/cmd/millrace/internal/crew"
	"millrace.dev/fabric/keys"
	"millrace.dev/internal/host"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/job"
)

// together is what the command line asks of several workers.
type together struct {
	cmd         *cobra.Command
	workers     int
	globalBatch string
	membership  string
	cluster     string
	listen      string
	keys        string
	join        []string
	notice      string
	metrics     string
}

// keysHelp explains which keys are meant.
const keysHelp = "this machine's keys, made by millrace cluster keys and needed beyond this machine: `directory/name`"

// noticeHelp explains where notices come from.
const noticeHelp = "leave in good order once this machine will be taken: as the cloud aws, gcp or azure tells, or once this `file` appears or this URL answers 200"

// metricsHelp explains where metrics are.
const metricsHelp = "tell Prometheus about this machine's workers at this `host:port`, path /metrics; beyond this machine it needs --keys, and keys of its own"

func togetherFlags(cmd *cobra.Command) *together {
	t := &together{cmd: cmd}
	f := cmd.Flags()
	f.IntVar(&t.workers, "workers", 0, "processes on this machine that train as one and survive the loss of any (default: this one alone)")
	f.StringVar(&t.globalBatch, "global-batch", "fixed", "what --batch counts when workers come and go: fixed (the samples of all together) or per-worker (of each; the learning rate follows in proportion)")
	f.StringVar(&t.membership, "membership", "", "who decides which workers go on after a loss: service (any number of them) or majority (more than half; default with --listen)")
	f.StringVar(&t.cluster, "cluster", "", "keep the membership in this NATS cluster, as in nats://host:4222 (several with commas)")
	f.StringVar(&t.listen, "listen", "", "reach this machine's workers at this `host:port` and the ports after it, so that others can join")
	f.StringVar(&t.keys, "keys", "", keysHelp)
	f.StringSliceVar(&t.join, "join", nil, "join the workers at these `addresses`; what is trained, they tell")
	f.StringVar(&t.notice, "notice", "", noticeHelp)
	f.StringVar(&t.metrics, "metrics", "", metricsHelp)
	complete(cmd, map[string][]string{"global-batch": {"fixed", "per-worker"}, "membership": {"service", "majority"}})
	return t
}

// asked tells whether several workers are asked for.
func (t *together) asked() bool {
	given := t.cmd.Flags().Changed
	return given("workers") || given("join")
}

// check refuses what cannot be, for a run of several workers or not.
func (t *together) check(several bool) error {
	given := t.cmd.Flags().Changed
	if !several {
		for _, name := range []string{"global-batch", "membership", "cluster", "listen", "keys", "notice", "metrics"} {
			if given(name) {
				return usagef("--%s needs --workers or --join", name)
			}
		}
	}
	switch {
	case given("workers") && (t.workers < 1 || t.workers > crew.MaxWorkers):
		return usagef("--workers must be 1 to %d, not %d", crew.MaxWorkers, t.workers)
	case t.globalBatch != "fixed" && t.globalBatch != "per-worker":
		return usagef("--global-batch must be fixed or per-worker, not %q", t.globalBatch)
	case t.membership != "" && t.membership != "service" && t.membership != "majority":
		return usagef("--membership must be service or majority, not %q", t.membership)
	case t.membership == "majority" && t.cluster != "":
		return usagef("--membership majority and --cluster exclude each other")
	}
	if err := checkJoin(t.cmd, t.join); err != nil {
		return err
	}
	return checkListen(t.listen, t.keys, t.addresses(), t.membership, t.cluster)
}

// checkJoin refuses to join nobody, as where a script's variable is empty: that would found a group of its own.
func checkJoin(cmd *cobra.Command, join []string) error {
	if cmd.Flags().Changed("join") && (len(join) == 0 || slices.Contains(join, "")) {
		return usagef("--join: an address is empty")
	}
	return nil
}

// checkListen refuses addresses at which others would not reach this machine's workers.
func checkListen(listen, keys string, join []string, membership, cluster string) error {
	if listen == "" {
		for _, a := range join {
			if address, ok := strings.CutPrefix(a, "tcp:"); ok && !host.LoopbackPort(address) {
				return usagef("--join %s needs --listen HOST:PORT: where the others reach this machine", address)
			}
		}
		return nil
	}
	name, port, err := net.SplitHostPort(listen)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n+crew.MaxWorkers > 1<<16 {
		return usagef("--listen: the port must be a number from 1 to %d", 1<<16-crew.MaxWorkers)
	}
	address, err := netip.ParseAddr(name)
	if name == "" || err == nil && address.IsUnspecified() {
		return usagef("--listen %s: give the address by which the others reach this machine", listen)
	}
	switch beyond := !host.LoopbackPort(listen); {
	case beyond && membership == "service" && cluster == "":
		return usagef("--membership service needs a --cluster that other machines can reach, or leave it to the majority")
	case beyond && keys == "":
		return usagef("--listen %s is beyond this machine, which needs --keys: make them with millrace cluster keys", listen)
	}
	return nil
}

// launcher makes the launcher of a run, which goes on as it was worked on before where nothing else
// is asked for.
func (t *together) launcher(j *job.Job, dir rundir.Dir, past crew.Setup) (*crew.Launcher, error) {
	given := t.cmd.Flags().Changed
	l := &crew.Launcher{Dir: dir, Settings: j.Settings, Setup: past, Service: t.cluster, Listen: t.listen, Notice: t.notice, Metrics: t.metrics}
	var err error
	if l.Keys, err = keys.Find(t.keys); err != nil {
		return nil, badInputf("--keys: %w", err)
	}
	if given("threads") {
		l.Threads = j.Settings.Threads
	}
	if given("workers") || l.Workers == 0 {
		l.Workers = max(t.workers, 1)
	}
	if given("global-batch") {
		l.PerWorker = t.globalBatch == "per-worker"
	}
	switch {
	case t.membership != "" || t.cluster != "":
		l.Majority = t.membership == "majority"
	case t.listen != "":
		l.Majority = true
	}
	return l, nil
}

// joinPatience is how long the workers that are to be joined may take to begin.
const joinPatience = 5 * time.Second

// askAbout asks the workers that are to be joined what they train.
func (t *together) askAbout(ctx context.Context) (*crew.About, error) {
	at, err := keys.Find(t.keys)
	if err != nil {
		return nil, badInputf("--keys: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	a, err := crew.Ask(ctx, at, t.addresses())
	if err != nil {
		return nil, fmt.Errorf("--join: %w", err)
	}
	return a, nil
}

// addresses are those to join at.
func (t *together) addresses() []string { return addresses(t.join) }

// addresses are places to join at; what names no network is TCP.
func addresses(given []string) []string {
	var list []string
	for _, a := range given {
		if !strings.HasPrefix(a, "unix:") && !strings.HasPrefix(a, "tcp:") {
			a = "tcp:" + a
		}
		list = append(list, a)
	}
	return list
}

// trainTogether carries a run through with several workers.
func (c *console) trainTogether(ctx context.Context, j *job.Job, dir rundir.Dir, l *crew.Launcher) error {
	at, origin, err := job.Reached(dir)
	if err != nil {
		return err
	}
	c.introduce(j, dir, at, origin, " with "+workers(l.Workers))
	if len(l.Join) > 0 {
		c.remark("joining the workers at %s", strings.Join(l.Join, " "))
	}
	live := crewProgress{newTrainProgress(c, j, at)}
	l.Observer = live
	r, err := l.Run(ctx)
	live.finish()
	goOn := "go on with millrace train --resume " + shellWord(dir.Path())
	if len(l.Join) > 0 {
		goOn = "the others go on"
	}
	switch {
	case errors.Is(err, crew.ErrAllLeft):
		return &stoppedError{fmt.Sprintf("%v; %s", err, goOn)}
	case errors.Is(err, context.Canceled):
		return &stoppedError{"interrupted; " + goOn}
	case err != nil && len(l.Join) > 0:
		return err
	case err != nil:
		return fmt.Errorf("%w; then %s", err, goOn)
	}
	return c.result(r, func(w io.Writer) error { return printTrained(w, r) })
}

func workers(n int) string {
	if n == 1 {
		return "one worker"
	}
	return fmt.Sprintf("%d workers", n)
}

// crewProgress shows what happens to the workers, too.
type crewProgress struct{ *trainProgress }

var _ crew.Observer = crewProgress{}

// Changed implements crew.Observer.
func (p crewProgress) Changed(x crew.Change) {
	verb := "go on"
	if len(x.Members) == 1 {
		verb = "goes on"
	}
	pause := ""
	if x.Seconds > 0 {
		pause = fmt.Sprintf(" (step %s; none for %.0f ms)", count(int64(x.Step)), 1000*x.Seconds)
	}
	p.line("millrace: view %d: %s; %s %s with %s samples a step at a learning rate of %.4g%s",
		x.View, x.Reason, strings.Join(x.Members, " "), verb, count(int64(x.Batch)), x.Rate, pause)
}

// Skipped implements crew.Observer.
func (p crewProgress) Skipped(step int, culprit string) {
	p.line("millrace: step %s is skipped by all: the gradient of %s was not finite", count(int64(step)), culprit)
}

// Stalled implements crew.Observer.
func (p crewProgress) Stalled(reason string) {
	p.line("millrace: the workers cannot go on now: %s", reason)
}

// Remark implements crew.Observer.
func (p crewProgress) Remark(format string, args ...any) { p.line("millrace: "+format, args...) }
