package crew

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/control"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
	"millrace.dev/group/notice"
	"millrace.dev/group/steplog"
	"millrace.dev/internal/rundir"
	"millrace.dev/internal/scratch"
	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// worker is a worker process.
type worker struct {
	spec   Spec
	keys   keys.Place
	dir    rundir.Dir
	job    *job.Job
	member *Member

	speaking sync.Mutex
	out      *json.Encoder

	finish chan struct{}          // closed when the parent wants the results
	gone   chan struct{}          // closed when the parent is gone
	why    atomic.Pointer[string] // it leaves, nil: it was asked to
}

// patience is how long a worker without a parent tries to leave in good order: the parent may have
// kept the service without which nobody can leave.
const patience = 3 * time.Second

// Work is the main of a worker process: it reads its spec and then orders from in, and writes words
// to out. It returns after the training, or when ctx ends or the parent is gone, and the worker has
// left its group.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &worker{out: json.NewEncoder(out), finish: make(chan struct{}), gone: make(chan struct{})}
	reader := bufio.NewReaderSize(in, 1<<16)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return errors.New("a worker is started by millrace train --workers, which tells it what to do")
	}
	if err := json.Unmarshal(line, &w.spec); err != nil {
		return fmt.Errorf("the worker's orders: %w", err)
	}
	sockets, err := scratch.Use(w.spec.Scratch)
	if err == nil {
		err = w.run(ctx, reader)
		_ = sockets.Leave() // what stays the next launcher removes
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, train.ErrLeft) || errors.Is(err, errAbandoned) || ctx.Err() != nil && errors.Is(err, context.Canceled):
		w.say(word{Left: w.reason()})
		return nil
	}
	w.say(word{Failed: newFailure(err)})
	return err
}

// reason is why the worker has left.
func (w *worker) reason() string {
	if why := w.why.Load(); why != nil {
		return *why
	}
	return "it was asked to leave"
}

func (w *worker) say(v word) {
	w.speaking.Lock()
	defer w.speaking.Unlock()
	_ = w.out.Encode(v) // without a parent nobody listens
}

// obey carries out the parent's orders until there is no parent.
func (w *worker) obey(in io.Reader) {
	defer close(w.gone)
	finish := sync.OnceFunc(func() { close(w.finish) })
	_ = lines(in, func(o order) { // an unreadable parent is no parent
		if o.Finish {
			finish()
		}
		if o.Down != "" {
			w.member.peerDown(o.Down)
		}
	})
}

// run prepares the job, trains and finishes.
func (w *worker) run(ctx context.Context, orders io.Reader) (err error) {
	s := &w.spec
	runtime.GOMAXPROCS(s.Settings.Threads + spare)
	if w.dir, err = rundir.Open(s.Run); err != nil {
		return err
	}
	if w.keys, err = keys.Find(s.Keys); err != nil {
		return err
	}
	if w.job, err = job.New(s.Settings); err != nil {
		return err
	}
	home := s.Home
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	log, err := steplog.Open(filepath.Join(home, stepsDir), steplog.Options{})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, log.Close()) }()
	config, release, err := w.config(ctx, log)
	if err != nil {
		return err
	}
	defer release()
	w.member = newMember(config, w.chronicle(), w.noticed)
	defer func() { err = cmp.Or(err, errors.Join(w.job.Close(), w.member.close())) }()
	before, err := spentBefore(w.dir)
	if err != nil {
		return err
	}
	if err := w.job.Work(job.Part{
		Dir: w.dir, Events: filepath.Join(home, eventsFile), Group: w.member, Joins: len(s.Founders) == 0,
		Before: before, Began: s.Began,
		Decisions: func() ([]control.Decision, error) { list, _, err := Decisions(w.dir); return list, err },
	}); err != nil {
		return err
	}
	return w.train(ctx, orders)
}

// train takes part in the training, and writes the results if the parent wants that of this worker.
func (w *worker) train(ctx context.Context, orders io.Reader) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	go w.obey(orders) // ends with the parent, at the latest with this process
	go w.outlive(ctx, leave)
	w.watchNotices(ctx)
	if err := w.job.Train(ctx, w); err != nil {
		return err
	}
	w.member.settle(ctx)
	w.say(word{Trained: true})
	select {
	case <-w.finish:
	case <-w.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	r, err := w.job.Finish(ctx)
	if err == nil {
		v := w.member.chronicle.view
		r.Workers, r.Views = len(v.Members), int(v.Epoch)
		w.say(word{Result: r})
	}
	return err
}

// outlive leaves when the parent is gone: in good order if the group lets it, at once if it was
// leaving already, as the parent would not have waited for it either.
func (w *worker) outlive(ctx context.Context, leave func()) {
	wait := patience
	select {
	case <-w.gone:
	case <-ctx.Done():
		wait = 0
		<-w.gone
	}
	leave()
	time.Sleep(wait)
	w.member.abandon(errAbandoned)
}

// chronicle begins the notes on the group.
func (w *worker) chronicle() chronicle {
	s := &w.spec.Settings
	return chronicle{
		machine: machine{s.Threads, runtime.NumCPU()}, terms: w.spec.Terms, batch: w.job.Settings.Batch, name: w.spec.Name, guest: w.spec.Guest, late: w.spec.Late,
	}
}

// config is the group's; release closes what it stands on.
func (w *worker) config(ctx context.Context, log *steplog.Writer) (c group.Config, release func(), err error) {
	s := &w.spec
	about, err := json.Marshal(About{s.Group, s.Settings, s.Terms})
	if err != nil {
		return c, nil, err
	}
	c = group.Config{
		Group: s.Group, Self: group.Member{ID: s.ID, Name: s.Name, Addr: s.Addr}, Founders: s.Founders, Join: s.Join,
		Data: group.Data{
			Samples: uint64(w.job.Samples), Batch: uint64(w.job.Settings.Batch),
			PerWorker: s.Terms.PerWorker, Base: uint64(s.Terms.Base),
		},
		About: about, Log: log, Logger: slog.New(stallTeller{slog.DiscardHandler, w}),
	}
	network, err := network(w.keys, s.Name)
	if err != nil {
		return c, nil, err
	}
	c.Network = network
	if s.Terms.Service == "" {
		return c, func() { _ = network.Close() }, nil
	}
	service, err := cluster.Open(ctx, cluster.Config{URL: s.Terms.Service, TLS: tlsFiles(w.keys)})
	if err != nil {
		_ = network.Close()
		return c, nil, fmt.Errorf("the membership service: %w", err)
	}
	c.Authority = group.ByRegister(service.Register("groups/" + s.Group))
	return c, func() { _ = network.Close(); service.Close() }, nil
}

// stallTeller tells the parent why a group stands still.
type stallTeller struct {
	slog.Handler
	worker *worker
}

// Enabled implements slog.Handler.
func (stallTeller) Enabled(_ context.Context, l slog.Level) bool { return l == slog.LevelWarn }

// Handle implements slog.Handler.
func (h stallTeller) Handle(_ context.Context, r slog.Record) error {
	if r.Message == group.LogStalled {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "reason" {
				h.worker.say(word{Stalled: a.Value.String()})
			}
			return true
		})
	}
	return nil
}

// noticed tells the parent of a change of the members and of a skipped step.
func (w *worker) noticed(c *Change, skip *skipWord) { w.say(word{Change: c, Skip: skip}) }

// Window implements train.Observer.
func (w *worker) Window(p train.Progress) { w.say(word{Window: &p}) }

// Epoch implements train.Observer.
func (w *worker) Epoch(e train.Epoch) { w.say(word{Epoch: &epochWord{e, e.Duration.Seconds()}}) }

// WriteFailed implements train.Observer.
func (w *worker) WriteFailed(err error) { w.say(word{Trouble: err.Error()}) }

var _ train.Observer = (*worker)(nil)

// watchNotices makes the worker leave when a cloud gives notice that the machine will go.
func (w *worker) watchNotices(ctx context.Context) {
	source := notice.From(w.spec.Notice)
	if source == nil {
		return
	}
	go func() {
		failed := false
		words, err := notice.Watch(ctx, source, time.Second, func(err error) {
			if !failed {
				w.say(word{Trouble: "asking for notices: " + err.Error()})
			}
			failed = true
		})
		if err == nil {
			w.why.Store(&words)
			w.member.Leave()
		}
	}()
}
