package crew

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/group"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// Launcher starts and keeps the workers of a run on this machine.
type Launcher struct {
	Dir      rundir.Dir
	Settings job.Settings // complete
	Workers  int          // how many to hold
	Threads  int          // of each worker; 0: this machine's, shared out evenly
	Join     []string     // addresses of members of a group to join; none: found one
	About    *About       // of that group
	Terms    Terms        // of the group that is founded; Service is filled in when it is Embedded
	Embedded bool         // the launcher keeps the membership service itself
	Listen   string       // host:port where the first worker listens, the others at the ports after it; empty: only this machine
	Keys     string       // directory of keys, needed when Listen is not a loopback address
	Notice   string       // a file or URL that gives notice; see package notice

	Observe train.Observer
	Changed func(Change)
	Remark  func(format string, args ...any)

	name     string // of the group
	program  string
	scratch  string // directory of sockets
	session  session
	founders []group.Member
	next     int // number of the next worker
	children []*child
	events   chan event
	requests chan request
	running  sync.WaitGroup
	service  *cluster.Cluster
	server   *http.Server

	cooldown    time.Duration // before the next replacement
	replaceAt   time.Time     // zero: none is due
	lastLoss    time.Time
	interrupted bool
	closing     bool
	finisher    *child
	result      *job.Result
	err         error
	started     time.Time
}

// Cooldowns before a lost worker is replaced: each loss doubles it, quiet time takes it back.
const (
	firstCooldown = 10 * time.Second
	lastCooldown  = 100 * time.Second
	quiet         = 10 * time.Minute
)

// MaxWorkers bounds the workers of one machine.
const MaxWorkers = 256

// Run trains to the end and returns what the run brought. When ctx ends all workers leave after the
// step under way, and it returns ctx's error: the run can go on later.
func (l *Launcher) Run(ctx context.Context) (r *job.Result, err error) {
	if err := l.prepare(ctx); err != nil {
		l.close()
		return nil, err
	}
	defer l.close()
	for range l.Workers {
		if err := l.startWorker(len(l.Join) == 0); err != nil {
			l.fail(err)
			break
		}
	}
	l.loop(ctx)
	if l.err != nil {
		return nil, l.err
	}
	if l.result == nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errors.New("all workers have left the group before the end of the training")
	}
	l.result.Seconds = time.Since(l.started).Seconds()
	return l.result, nil
}

// prepare makes what the workers stand on.
func (l *Launcher) prepare(ctx context.Context) (err error) {
	l.started, l.cooldown = time.Now(), firstCooldown
	l.events, l.requests = make(chan event, 64), make(chan request)
	if l.program, err = program(); err != nil {
		return err
	}
	if l.Threads == 0 {
		l.Threads = max(1, runtime.GOMAXPROCS(0)/l.Workers)
	}
	if l.session, err = openSession(l.Dir, Past{l.Workers, l.Terms.PerWorker, l.Terms.Service == "" && !l.Embedded}); err != nil {
		return err
	}
	l.next = l.session.FirstWorker
	// Socket paths are short, whatever the run's directory is called.
	if l.scratch, err = os.MkdirTemp("", "millrace-"); err != nil {
		return err
	}
	if l.About != nil {
		l.name, l.Terms = l.About.Group, l.About.Terms
	} else {
		l.name = fmt.Sprintf("%s-%d", filepath.Base(l.Dir.Path()), time.Now().UnixNano())
	}
	if l.Embedded {
		l.service, err = cluster.Open(ctx, cluster.Config{Dir: filepath.Join(l.scratch, "membership"), Listen: "127.0.0.1:0"})
		if err != nil {
			return fmt.Errorf("the membership service: %w", err)
		}
		l.Terms.Service = l.service.URL()
	}
	if len(l.Join) == 0 {
		for n := l.next; n < l.next+l.Workers; n++ {
			l.founders = append(l.founders, group.Member{ID: group.NewID(), Name: workerName(n), Addr: l.addr(n), Host: group.ThisHost()})
		}
	}
	return l.serve()
}

// close ends what is left, and waits for it.
func (l *Launcher) close() {
	if l.server != nil {
		_ = l.server.Close()
	}
	for _, c := range l.children {
		c.dismiss()
		_ = c.cmd.Process.Kill() // one that has ended is not there any more
	}
	for len(l.children) > 0 {
		if e := <-l.events; e.ended {
			l.drop(e.child)
		}
	}
	l.running.Wait()
	l.endService()
	if l.service != nil {
		l.service.Close()
	}
	if l.scratch != "" {
		_ = os.RemoveAll(l.scratch)
	}
}

func workerName(n int) string { return "w" + strconv.Itoa(n) }

// addr is where worker n listens.
func (l *Launcher) addr(n int) string {
	if l.Listen == "" {
		return "unix:" + filepath.Join(l.scratch, workerName(n))
	}
	host, port, _ := net.SplitHostPort(l.Listen) // checked before
	first, _ := strconv.Atoi(port)
	return "tcp:" + net.JoinHostPort(host, strconv.Itoa(first+n-l.session.FirstWorker))
}

// startWorker starts the next worker, as a founder or as one that joins.
func (l *Launcher) startWorker(founder bool) error {
	n := l.next
	l.next++
	spec := Spec{
		Run: l.Dir.Path(), Name: workerName(n), Settings: l.Settings, Threads: l.Threads, Group: l.name, Addr: l.addr(n),
		Terms: l.Terms, Base: l.Settings.Batch, Keys: l.Keys, Notice: l.Notice,
	}
	switch {
	case l.About != nil:
		spec.Base = l.About.Base
	case l.Terms.PerWorker:
		spec.Base *= len(l.founders)
	}
	if founder {
		spec.Founders = l.founders
		spec.ID = spec.Founders[n-l.session.FirstWorker].ID
	} else {
		spec.Join = slices.Clone(l.Join)
		for _, c := range l.children {
			spec.Join = append(spec.Join, c.addr)
		}
	}
	c, err := start(l.program, spec, l.events, &l.running)
	if err != nil {
		return err
	}
	l.children = append(l.children, c)
	l.note()
	return nil
}

// loop handles what happens until all workers have ended.
func (l *Launcher) loop(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	done := ctx.Done()
	for len(l.children) > 0 {
		select {
		case e := <-l.events:
			l.handle(e)
		case r := <-l.requests:
			r.do(l)
		case now := <-tick.C:
			l.replace(now)
		case <-done:
			done = nil
			l.interrupted = true
			for _, c := range l.children {
				c.leave()
			}
		}
	}
}

func (l *Launcher) handle(e event) {
	c := e.child
	switch w := e.word; {
	case e.ended:
		l.ended(c)
	case w.Window != nil:
		l.Observe.Window(*w.Window)
	case w.Epoch != nil:
		l.Observe.Epoch(w.Epoch.epoch())
	case w.Trouble != "":
		l.Observe.WriteFailed(errors.New("worker " + c.name + ": " + w.Trouble))
	case w.Change != nil:
		l.Changed(*w.Change)
	case w.Trained != nil:
		c.trained = true
		l.finish()
	case w.Result != nil:
		l.result = w.Result
		l.dismissAll()
	case w.Failed != nil:
		c.failed = w.Failed
	case w.Left:
		c.left = true
	}
}

// finish makes one of those that have trained to the end write the results.
func (l *Launcher) finish() {
	if l.finisher != nil || l.result != nil {
		return
	}
	for _, c := range l.children {
		if c.trained && c.failed == nil {
			l.finisher = c
			c.order(order{Finish: true})
			return
		}
	}
}

// dismissAll lets the workers end.
func (l *Launcher) dismissAll() {
	l.closing = true
	for _, c := range l.children {
		c.dismiss()
	}
}

// drop forgets a child.
func (l *Launcher) drop(c *child) {
	l.children = slices.DeleteFunc(l.children, func(x *child) bool { return x == c })
}

// ended handles the end of a child: of one that leaves, of a run that ends, or a loss.
func (l *Launcher) ended(c *child) {
	l.drop(c)
	c.dismiss()
	l.note()
	if l.closing || l.interrupted {
		return
	}
	if c.failed != nil {
		// What fails one worker's training fails that of all.
		l.fail(&Failure{c.name, *c.failed})
		return
	}
	if c.trained {
		if l.finisher == c {
			l.finisher = nil
		}
		l.finish()
		if l.finisher == nil {
			l.fail(fmt.Errorf("the training has ended, but worker %s %s before the results were written", c.name, c.end()))
		}
		return
	}
	if c.left {
		if !c.leaving {
			l.Workers = max(l.Workers-1, 0) // it was told to by others
		}
		return
	}
	for _, x := range l.children {
		x.order(order{Down: c.name})
	}
	l.lose(c)
}

// lose notes a lost worker and when to replace it.
func (l *Launcher) lose(c *child) {
	if len(l.children) == 0 && len(l.Join) == 0 {
		l.fail(fmt.Errorf("all workers are lost: worker %s %s", c.name, c.end()))
		return
	}
	now := time.Now()
	if now.Sub(l.lastLoss) > quiet {
		l.cooldown = firstCooldown
	}
	l.lastLoss = now
	if l.replaceAt.IsZero() {
		l.replaceAt = now.Add(l.cooldown)
		l.cooldown = min(2*l.cooldown, lastCooldown)
	}
	l.Remark("worker %s %s; another takes its place in %v", c.name, c.end(), time.Until(l.replaceAt).Round(time.Second))
}

// replace starts workers where some are missing, when that is due.
func (l *Launcher) replace(now time.Time) {
	if l.replaceAt.IsZero() || now.Before(l.replaceAt) || l.closing || l.interrupted {
		return
	}
	l.replaceAt = time.Time{}
	for l.staying() < l.Workers {
		if err := l.startWorker(false); err != nil {
			l.Remark("%v", err)
			l.replaceAt = now.Add(l.cooldown)
			return
		}
	}
}

// staying counts the children that were not asked to leave.
func (l *Launcher) staying() int {
	n := 0
	for _, c := range l.children {
		if !c.leaving {
			n++
		}
	}
	return n
}

// resize changes how many workers the launcher holds.
func (l *Launcher) resize(n int) error {
	if n < 1 || n > MaxWorkers {
		return fmt.Errorf("a group has 1 to %d workers on a machine, not %d", MaxWorkers, n)
	}
	if l.closing || l.interrupted || l.finisher != nil {
		return errors.New("the run is ending")
	}
	l.Workers = n
	for i := len(l.children) - 1; i >= 0 && l.staying() > n; i-- {
		if !l.children[i].leaving {
			l.children[i].leave()
		}
	}
	if l.staying() < n {
		l.replaceAt = time.Now()
		l.replace(time.Now())
	}
	return nil
}

// drain makes one worker leave for good, or all of them.
func (l *Launcher) drain(name string) error {
	found := false
	for _, c := range l.children {
		if name == "" || c.name == name {
			found = true
			if !c.leaving {
				c.leave()
				l.Workers = max(l.Workers-1, 0)
			}
		}
	}
	if !found {
		return fmt.Errorf("no worker %s is on this machine", name)
	}
	return nil
}

// fail ends the run with an error.
func (l *Launcher) fail(err error) {
	if l.err == nil {
		l.err = err
	}
	l.closing = true
	for _, c := range l.children {
		c.dismiss()
		c.leave()
	}
}
