package crew

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/control"
	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
	"millrace.dev/group/notice"
	"millrace.dev/group/steplog"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// workersDir holds a directory for each worker of a run: its journal and its log of steps.
const workersDir = "workers"

const stepsDir = "steps"

// workerDir is a worker's own directory.
func workerDir(run rundir.Dir, name string) string {
	return filepath.Join(run.File(workersDir), name)
}

// worker is a worker process.
type worker struct {
	spec   Spec
	dir    rundir.Dir
	job    *job.Job
	member *Member

	speaking sync.Mutex
	out      *json.Encoder

	finish chan struct{} // closed when the parent wants the results
	gone   chan struct{} // closed when the parent is gone

	view  uint64    // epoch of the last decided step
	since time.Time // when it was decided
	rate  float64
}

// Work is the main of a worker process: it reads its spec and then orders from in, and writes words
// to out. It returns after the training, or when ctx ends or the parent is gone, and the worker has
// left its group.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &worker{out: json.NewEncoder(out), finish: make(chan struct{}), gone: make(chan struct{})}
	reader := bufio.NewReaderSize(in, 1<<16)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("a worker is started by millrace train --workers, which tells it what to do: %w", err)
	}
	if err := json.Unmarshal(line, &w.spec); err != nil {
		return fmt.Errorf("the worker's orders: %w", err)
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	go func() {
		defer leave()
		defer close(w.gone)
		_ = lines(reader, w.obey) // an unreadable parent is no parent
	}()
	if err := w.run(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			w.say(word{Left: true})
			return nil
		}
		w.say(word{Failed: newFailure(err)})
		return err
	}
	return nil
}

func (w *worker) say(v word) {
	w.speaking.Lock()
	defer w.speaking.Unlock()
	_ = w.out.Encode(v) // without a parent nobody listens
}

func (w *worker) obey(o order) {
	if o.Finish {
		close(w.finish)
	}
	if o.Down != "" && w.member != nil && w.member.Worker() != nil {
		w.member.Worker().PeerDown(o.Down)
	}
}

func (w *worker) run(ctx context.Context) (err error) {
	s := &w.spec
	// With a processor to spare, what comes from the others is read while all threads compute.
	runtime.GOMAXPROCS(s.Threads + 2)
	if w.dir, err = rundir.Open(s.Run); err != nil {
		return err
	}
	s.Settings.Threads = s.Threads
	if w.job, err = job.New(s.Settings); err != nil {
		return err
	}
	home := workerDir(w.dir, s.Name)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	log, err := steplog.Open(filepath.Join(home, stepsDir), steplog.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	config, release, err := w.config(ctx, log)
	if err != nil {
		return err
	}
	defer release()
	w.member = NewMember(config, func(c group.Config) (*group.Worker, error) {
		return group.Start(context.WithoutCancel(ctx), c)
	}, w.decided)
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.job.Work(w.dir, filepath.Join(home, "events.jsonl"), w.member); err != nil {
		return err
	}
	w.watchNotices(ctx)
	w.since = time.Now()
	if err := w.job.Train(ctx, w); err != nil {
		return err
	}
	w.say(word{Trained: &trainedWord{w.job.State().Step, w.job.Hash()}})
	select {
	case <-w.finish:
	case <-w.gone:
		return nil
	}
	r, err := w.job.Finish(ctx)
	if err == nil {
		w.say(word{Result: r})
	}
	return err
}

func (w *worker) close() error {
	err := w.job.Close()
	if g := w.member.Worker(); g != nil {
		err = errors.Join(err, g.Close())
	}
	return err
}

// config is the group's; release closes what it stands on.
func (w *worker) config(ctx context.Context, log *steplog.Writer) (c group.Config, release func(), err error) {
	s := &w.spec
	about, err := json.Marshal(About{s.Group, s.Settings, s.Terms, s.Base})
	if err != nil {
		return c, nil, err
	}
	c = group.Config{
		Group: s.Group, Self: group.Member{ID: s.ID, Name: s.Name, Addr: s.Addr}, Founders: s.Founders, Join: s.Join,
		Data:  group.Data{Samples: uint64(w.job.Samples), Batch: uint64(w.job.Settings.Batch), PerWorker: s.Terms.PerWorker, Base: uint64(s.Base)},
		About: about, Log: log,
	}
	network, err := openNetwork(s.Name, s.Keys)
	if err != nil {
		return c, nil, err
	}
	c.Network = network
	release = func() { _ = network.Close() }
	if s.Terms.Service == "" {
		return c, release, nil
	}
	service, err := cluster.Open(ctx, cluster.Config{URL: s.Terms.Service, TLS: tlsFiles(s.Keys, s.Name)})
	if err != nil {
		release()
		return c, nil, fmt.Errorf("the membership service: %w", err)
	}
	c.Authority = group.ByRegister(service.Register("groups/" + s.Group))
	return c, func() { _ = network.Close(); service.Close() }, nil
}

// openNetwork makes the network of a process, with keys where a directory of them is given.
func openNetwork(name, dir string) (*fabric.Sockets, error) {
	opt := fabric.Options{Name: name}
	if dir != "" {
		identity, err := keys.Load(dir, name)
		if err != nil {
			return nil, err
		}
		opt.Keys = identity
	}
	return fabric.NewSockets(opt)
}

// decided is told each decided step; the leader tells the parent of a change of the members.
func (w *worker) decided(r group.Result) {
	now := time.Now()
	changed := w.view != 0 && r.View.Epoch != w.view
	if changed && w.leads() {
		c := &Change{
			Step: int(r.Step), Epoch: r.View.Epoch, Reason: w.member.Worker().Status().Reason,
			Seconds: now.Sub(w.since).Seconds(), Batch: r.Weight, Rate: w.rate,
		}
		for _, m := range r.View.Members {
			c.Members = append(c.Members, m.Name)
		}
		w.say(word{Change: c})
	}
	w.view, w.since = r.View.Epoch, now
}

// leads says whether this worker speaks for the group.
func (w *worker) leads() bool { return w.member.step != nil && w.member.step.Leader }

// Window implements train.Observer.
func (w *worker) Window(p train.Progress) {
	w.rate = p.LR
	if w.leads() {
		w.say(word{Window: &p})
	}
}

// Epoch implements train.Observer.
func (w *worker) Epoch(e train.Epoch) {
	if w.leads() {
		w.say(word{Epoch: &epochWord{e, e.Duration.Seconds()}})
	}
}

// WriteFailed implements train.Observer.
func (w *worker) WriteFailed(err error) { w.say(word{Trouble: err.Error()}) }

var _ train.Observer = (*worker)(nil)

// watchNotices makes the worker leave when a cloud gives notice that the machine will go.
func (w *worker) watchNotices(ctx context.Context) {
	source := noticeSource(w.spec.Notice)
	if source == nil {
		return
	}
	go func() {
		failed := false
		_, err := notice.Watch(ctx, source, time.Second, func(err error) {
			if !failed {
				w.say(word{Trouble: "asking for notices: " + err.Error()})
			}
			failed = true
		})
		if err == nil {
			w.member.Leave()
		}
	}()
}

// events lists the journals of a run's workers.
func events(dir rundir.Dir) []string {
	paths, _ := filepath.Glob(filepath.Join(dir.File(workersDir), "*", "events.jsonl"))
	return paths
}

// Journal is the journal of a run that tells most: that of the run itself, or of a worker.
func Journal(dir rundir.Dir) string {
	best, most := dir.Events(), -1
	for _, path := range append([]string{best}, events(dir)...) {
		if decisions, _, err := control.ReadDecisions(path); err == nil && len(decisions) > most {
			best, most = path, len(decisions)
		}
	}
	return best
}
