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
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
	"millrace.dev/group/metrics"
	"millrace.dev/internal/rundir"
	"millrace.dev/internal/scratch"
	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// Launcher starts and keeps the workers of a run on this machine.
type Launcher struct {
	Dir      rundir.Dir
	Settings job.Settings // complete
	Setup
	Threads  int        // of each worker; 0: this machine's, shared out evenly
	Join     []string   // addresses of members of a group to join; none: found one
	About    *About     // of that group, which then decides about the Setup, but for the number
	Service  string     // URL of the cluster that keeps the membership; empty: the launcher does, or see Setup
	Listen   string     // host:port where the first worker listens, the others at the ports after it; empty: only this machine
	Keys     keys.Place // needed when Listen is not a loopback address
	Notice   string     // whence comes notice to leave, as notice.From names it; empty: nowhere
	Metrics  string     // host:port where Prometheus can ask for the workers' metrics; empty: nowhere
	Observer Observer

	terms    Terms
	group    string // name of the job
	prefix   string // of the workers' names
	program  string
	scratch  *scratch.Dir // of sockets
	session  session
	founders []group.Member
	next     int // number of the next worker
	target   target
	children []*child
	running  sync.WaitGroup // goroutines
	events   chan event
	requests chan func()
	service  *cluster.Cluster
	server   *http.Server
	measures *metrics.Server
	shown    shown

	interrupted bool      // Run's context has ended
	closing     bool      // all that is left is to end
	closeBy     time.Time // when those that have not ended are killed
	finisher    *child
	result      *job.Result
	resultAt    time.Time
	err         error
	began       time.Time
}

// Observer is told how the run goes, and what happens to its workers.
type Observer interface {
	train.Observer
	Changed(Change)
	Skipped(step int, culprit string)
	Stalled(reason string)
	Remark(format string, args ...any)
}

// MaxWorkers bounds the workers of one machine.
const MaxWorkers = 256

// ErrAllLeft says that the last worker has left in good order before the end of the training, as it was
// told to: the run can go on later.
var ErrAllLeft = errors.New("all workers have left")

// How long workers may take: to leave, besides some steps, as what is left of the group may let nobody
// leave; and to end when their work is done.
const (
	leaveWait = 10 * time.Second
	lateWait  = 2 * time.Second // for the last step of the others, once the results are written
	lastWait  = 10 * time.Second
)

// Run trains to the end and returns what the run brought. When ctx ends all workers leave after the
// step under way, and it returns ctx's error: the run can go on later.
func (l *Launcher) Run(ctx context.Context) (*job.Result, error) {
	defer l.close()
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	for range l.target.workers {
		if err := l.startWorker(len(l.Join) == 0); err != nil {
			l.fail(err)
			break
		}
	}
	l.loop(ctx)
	switch {
	case l.err != nil:
		return nil, l.err
	case l.result != nil:
		return l.result, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, ErrAllLeft
}

// prepare makes what the workers stand on.
func (l *Launcher) prepare(ctx context.Context) (err error) {
	l.began, l.target.workers = time.Now(), l.Workers
	l.events, l.requests = make(chan event, 64), make(chan func())
	if l.program, err = os.Executable(); err != nil {
		return err
	}
	if l.session, err = openSession(ctx, l.Dir, l.Setup, l.Observer.Remark); err != nil {
		return err
	}
	// Socket paths are short, whatever the run's directory is called.
	if l.scratch, err = scratch.Make(); err != nil {
		return err
	}
	if l.About != nil {
		l.group, l.terms = l.About.Group, l.About.Terms
		if l.prefix, err = l.newcomers(ctx); err != nil {
			return err
		}
		return l.serve()
	}
	l.group = fmt.Sprintf("%s-%d", filepath.Base(l.Dir.Path()), time.Now().UnixNano())
	l.prefix = "w"
	l.terms = Terms{PerWorker: l.PerWorker, Service: l.Service}
	l.terms.Base = l.terms.batch(l.Settings.Batch, l.Workers)
	if l.Service == "" && !l.Majority {
		if err := l.keepMembership(ctx); err != nil {
			return err
		}
	}
	for slot := range l.Workers {
		l.founders = append(l.founders, group.Member{
			ID: group.NewID(), Name: l.name(slot), Addr: l.addr(slot, slot), Host: group.ThisHost(),
		})
	}
	return l.serve()
}

// keepMembership starts a membership service in this process.
func (l *Launcher) keepMembership(ctx context.Context) (err error) {
	l.service, err = cluster.Open(ctx, cluster.Config{Dir: filepath.Join(l.scratch.Path(), "membership"), Listen: "127.0.0.1:0"})
	if err != nil {
		return fmt.Errorf("the membership service: %w", err)
	}
	l.terms.Service = l.service.URL()
	return nil
}

// close ends what is left, and waits for it.
func (l *Launcher) close() {
	if l.server != nil {
		_ = l.server.Close()
	}
	if l.measures != nil {
		l.measures.Close()
	}
	for _, c := range l.children {
		c.dismiss()
		c.kill()
	}
	for len(l.children) > 0 {
		if e := <-l.events; e.ended {
			l.drop(e.child)
		}
	}
	l.running.Wait()
	l.session.close(l.Dir)
	if l.service != nil {
		l.service.Close()
	}
	if l.scratch != nil {
		_ = l.scratch.Leave() // what stays the next launcher removes
	}
}

// name is that of worker n.
func (l *Launcher) name(n int) string { return l.prefix + strconv.Itoa(n) }

// addr is where worker n, which has a slot, listens.
func (l *Launcher) addr(n, slot int) string {
	if l.Listen == "" {
		return "unix:" + filepath.Join(l.scratch.Path(), l.name(n))
	}
	host, port, _ := net.SplitHostPort(l.Listen) // checked before
	first, _ := strconv.Atoi(port)
	return "tcp:" + net.JoinHostPort(host, strconv.Itoa(first+slot))
}

// freeSlot is the first that no child has.
func (l *Launcher) freeSlot() int {
	for slot := 0; ; slot++ {
		if !slices.ContainsFunc(l.children, func(c *child) bool { return c.slot == slot }) {
			return slot
		}
	}
}

// threads of a worker that is started now.
func (l *Launcher) threads() int {
	if l.Threads > 0 {
		return l.Threads
	}
	return max(1, runtime.GOMAXPROCS(0)/max(1, l.target.workers))
}

// startWorker starts the next worker, as a founder or as one that joins.
func (l *Launcher) startWorker(founder bool) error {
	n, slot := l.next, l.freeSlot()
	l.next++
	spec := Spec{
		Run: l.Dir.Path(), Home: l.session.worker(l.name(n)), Name: l.name(n), Settings: l.Settings, Group: l.group, Addr: l.addr(n, slot),
		Terms: l.terms, Keys: l.Keys.Path(), Notice: l.Notice, Scratch: l.scratch.Path(),
		Began: l.began, Guest: len(l.Join) > 0, Late: !founder && (len(l.Join) == 0 || len(l.children) > 0),
	}
	spec.Settings.Threads = l.threads()
	if founder {
		spec.Founders = l.founders
		spec.ID = spec.Founders[slot].ID
	} else {
		for _, c := range l.children {
			spec.Join = append(spec.Join, c.addr)
		}
		spec.Join = append(spec.Join, l.Join...)
	}
	c, err := start(l.program, spec, l.events, &l.running)
	if err != nil {
		return err
	}
	c.slot = slot
	l.children = append(l.children, c)
	l.note()
	return nil
}
