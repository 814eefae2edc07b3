package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"millrace.dev/cmd/millrace/internal/crew"
	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
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
}

func togetherFlags(cmd *cobra.Command) *together {
	t := &together{cmd: cmd}
	f := cmd.Flags()
	f.IntVar(&t.workers, "workers", 0, "processes on this machine that train as one and survive the loss of any (default: this one alone)")
	f.StringVar(&t.globalBatch, "global-batch", "fixed", "what --batch counts when workers come and go: fixed (the samples of all together) or per-worker (of each; the learning rate follows in proportion)")
	f.StringVar(&t.membership, "membership", "", "who decides which workers go on: service (any number of survivors) or majority (more than half; default with --listen)")
	f.StringVar(&t.cluster, "cluster", "", "keep the membership in this NATS cluster, as in nats://host:4222 (several with commas)")
	f.StringVar(&t.listen, "listen", "", "let other machines join at this `host:port`, the further workers at the ports after it")
	f.StringVar(&t.keys, "keys", "", "`directory` of the keys made by millrace cluster keys, needed beyond this machine")
	f.StringSliceVar(&t.join, "join", nil, "join the workers at these `addresses`; what is trained, they tell")
	f.StringVar(&t.notice, "notice", "", "leave in good order once this `file` appears or this URL answers 200, as clouds do before they take a machine")
	complete(cmd, map[string][]string{"global-batch": {"fixed", "per-worker"}, "membership": {"service", "majority"}})
	return t
}

// asked tells whether several workers are asked for.
func (t *together) asked() bool { return t.workers > 0 || len(t.join) > 0 }

func (t *together) check() error {
	given := t.cmd.Flags().Changed
	switch {
	case !t.asked():
		for _, name := range []string{"global-batch", "membership", "cluster", "listen", "keys", "notice"} {
			if given(name) {
				return usagef("--%s needs --workers or --join", name)
			}
		}
	case t.workers < 0 || t.workers > crew.MaxWorkers:
		return usagef("--workers must be 1 to %d, not %d", crew.MaxWorkers, t.workers)
	case t.globalBatch != "fixed" && t.globalBatch != "per-worker":
		return usagef("--global-batch must be fixed or per-worker, not %q", t.globalBatch)
	case t.membership != "" && t.membership != "service" && t.membership != "majority":
		return usagef("--membership must be service or majority, not %q", t.membership)
	case t.membership == "majority" && t.cluster != "":
		return usagef("--membership majority and --cluster exclude each other")
	case t.membership == "service" && t.listen != "" && t.cluster == "":
		return usagef("--membership service needs a --cluster that other machines can reach, or leave it to the majority")
	}
	if t.listen != "" {
		if _, _, err := net.SplitHostPort(t.listen); err != nil {
			return usagef("--listen: %w", err)
		}
	}
	if t.keys != "" {
		if _, err := os.Stat(t.keys); err != nil {
			return usagef("--keys: %w", err)
		}
	}
	return nil
}

// launcher makes the launcher of a run.
func (t *together) launcher(c *console, j *job.Job, dir rundir.Dir, past crew.Past) *crew.Launcher {
	given := t.cmd.Flags().Changed
	l := &crew.Launcher{
		Dir: dir, Settings: j.Settings, Workers: t.workers, Threads: 0, Listen: t.listen, Keys: t.keys, Notice: t.notice, Join: t.join,
		Remark: c.remark,
	}
	if given("threads") {
		l.Threads = j.Settings.Threads
	}
	if l.Workers == 0 {
		l.Workers = max(past.Workers, 1)
	}
	l.Terms.PerWorker = t.globalBatch == "per-worker" || !given("global-batch") && past.PerWorker
	l.Terms.Service = t.cluster
	majority := t.membership == "majority" || t.membership == "" && (t.listen != "" || past.Majority)
	l.Embedded = !majority && t.cluster == "" && len(t.join) == 0
	return l
}

// askAbout asks the workers that are to be joined what they train.
func (t *together) askAbout(ctx context.Context) (*crew.About, error) {
	opt := fabric.Options{Name: "visitor"}
	if t.keys != "" {
		identity, err := keys.Load(t.keys, "visitor")
		if err != nil {
			return nil, err
		}
		opt.Name, opt.Keys = identity.Name, identity
	}
	network, err := fabric.NewSockets(opt)
	if err != nil {
		return nil, err
	}
	defer network.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := group.Ask(ctx, network, t.addresses(), group.Question{About: true})
	if err != nil {
		return nil, fmt.Errorf("--join: %w", err)
	}
	a := &crew.About{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("--join: the workers' description of what they train: %w", err)
	}
	return a, nil
}

// addresses are those to join at; what names no network is TCP.
func (t *together) addresses() []string {
	var list []string
	for _, a := range t.join {
		if !strings.HasPrefix(a, "unix:") && !strings.HasPrefix(a, "tcp:") {
			a = "tcp:" + a
		}
		list = append(list, a)
	}
	return list
}

// trainTogether carries a run through with several workers.
func (c *console) trainTogether(ctx context.Context, j *job.Job, dir rundir.Dir, l *crew.Launcher) error {
	at, err := job.Reached(dir)
	if err != nil {
		return err
	}
	c.remark("training %s (%s weights) on %s samples of %s with %d workers; the run is in %s",
		j.Net.Name, count(int64(j.Net.NumParams())), count(int64(j.Samples)), j.DataName(), l.Workers, dir.Path())
	if at.Step > 0 {
		c.remark("going on after step %s of %s", count(int64(at.Step)), count(int64(j.Steps)))
	}
	live := newTrainProgress(c, j, at)
	l.Observe = live
	l.Changed = func(x crew.Change) { live.line("%s", changeText(x)) }
	r, err := l.Run(ctx)
	live.finish()
	if errors.Is(err, context.Canceled) {
		return &stoppedError{fmt.Sprintf("interrupted; go on with millrace train --resume %s", shellWord(dir.Path()))}
	}
	if err != nil {
		return fmt.Errorf("%w; go on with millrace train --resume %s", err, shellWord(dir.Path()))
	}
	return c.result(r, func(w io.Writer) error { return printTrained(w, r) })
}

// changeText says in a line what a change of the members means.
func changeText(x crew.Change) string {
	return fmt.Sprintf("millrace: view %d: %s; %d of us go on (%s), %s samples and learning rate %.4g in step %s, %.0f ms after the one before it",
		x.Epoch, x.Reason, len(x.Members), strings.Join(x.Members, " "), count(int64(x.Batch)), x.Rate, count(int64(x.Step)), 1000*x.Seconds)
}
