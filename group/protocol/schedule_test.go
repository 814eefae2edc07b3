package protocol

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace.dev/fabric/sim"
)

// options of a schedule that are not drawn.
type options struct {
	authority Authority
	sabotage  string
	trace     io.Writer
	bare      bool // workers do not train, and send no beats
}

// newJob makes a job of n founders.
func newJob(seed uint64, n int, link sim.Link, o options) *job {
	j := &job{random: rand.New(rand.NewPCG(seed, 0x6a6f62)), world: sim.New(seed, link), authority: o.authority,
		sabotage: o.sabotage, trace: o.trace, bare: o.bare, cancelled: func(*worker) {}, round: func(*worker, Message) {}}
	j.batch, j.samples = uint64(2*n+1), uint64(20*n+3)
	j.check = newChecker(j)
	j.register = &register{job: j, epoch: 1}
	j.register.serve()
	view := View{Epoch: 1}
	for i := range n {
		view.Members = append(view.Members, j.newWorker(fmt.Sprintf("w%d", i)).self)
	}
	for _, w := range j.workers {
		w.start(&view)
	}
	return j
}

// running are the workers that are neither dead nor out.
func (j *job) running() []*worker {
	return slices.DeleteFunc(slices.Clone(j.workers), func(w *worker) bool { return w.dead || w.ended })
}

func (j *job) kill(w *worker) {
	if w.dead || w.ended {
		return
	}
	j.log(w.name(), "is killed")
	w.dead, w.ended = true, true
	j.world.Kill(w.self.Name)
}

// newest is the last view that anybody has installed.
func (j *job) newest() View { return newestOf(j.workers) }

func newestOf(workers []*worker) View {
	v := View{}
	for _, w := range workers {
		if w.m.View().Epoch > v.Epoch {
			v = w.m.View()
		}
	}
	return v
}

// living are the workers of a view that still run.
func (j *job) living(v View) []*worker {
	return slices.DeleteFunc(j.running(), func(w *worker) bool { return !v.Has(w.self.ID) })
}

// over says why the job cannot go on any more, by no fault of the protocol.
func (j *job) over() string {
	view := j.newest()
	if j.authority == Majority { // one that only the dead have installed takes the majority of the one before
		view = newestOf(j.running())
	}
	living := j.living(view)
	has := slices.ContainsFunc(living, func(w *worker) bool { return w.has })
	switch {
	case len(living) == 0:
		return "all are dead or have left"
	case j.authority == Majority && 2*len(living) <= len(view.Members):
		return "the majority is dead"
	case !has:
		return "the state died with its last member"
	}
	return ""
}

// lost says that a worker was cut off, and that all whom it knows are gone, so that nobody tells it.
func (j *job) lost(w *worker) bool {
	v, newest := w.m.View(), j.newest()
	return v.Epoch > 0 && v.Epoch < newest.Epoch && !newest.Has(w.self.ID) && len(j.living(v)) == 1
}

// done says whether all workers that run are members that train, and some steps beyond.
func (j *job) done(beyond uint64) bool {
	running := slices.DeleteFunc(j.running(), j.lost)
	view := running[0].m.View()
	for _, w := range running {
		if w.m.View().Epoch != view.Epoch || w.m.Committed() < beyond || !w.has || !view.Has(w.self.ID) || w.m.ring.frozen {
			return false
		}
	}
	return len(view.Members) == len(running)
}

// schedule runs a job under faults that are drawn from the seed.
func schedule(seed uint64, o options) (stats, error) {
	r := rand.New(rand.NewPCG(seed, 0x66617573))
	if o.authority == 0 {
		o.authority = Authority(1 + r.IntN(2))
	}
	n := 1 + r.IntN(6)
	if n < 3 {
		n += r.IntN(4)
	}
	link := sim.Link{Min: 100 * time.Microsecond, Max: 100*time.Microsecond + time.Duration(r.IntN(6000))*time.Microsecond}
	if r.IntN(4) == 0 {
		link.Loss, link.Retry = 0.01, 60*time.Millisecond
	}
	if r.IntN(8) == 0 {
		link.Reset = 0.0005
	}
	j := newJob(seed, n, link, o)
	f := &faults{job: j, r: r, usual: link}
	f.plan()
	j.world.RunUntil(func() bool { return j.check.err != nil }, f.end)
	f.stop()
	beyond, over := uint64(0), ""
	for _, w := range j.workers {
		beyond = max(beyond, w.m.Committed()+3)
	}
	stopped := j.world.RunUntil(func() bool {
		over = j.over()
		return j.check.err != nil || over != "" || j.done(beyond)
	}, 60*time.Second)
	if !stopped {
		var where []string
		for _, w := range j.running() {
			where = append(where, fmt.Sprintf("%s in epoch %d at step %d waits for %q, has state: %t", w.name(), w.m.View().Epoch, w.m.Committed(), w.m.Waiting(), w.has))
		}
		j.check.fail("no progress a minute after the last fault:\n%s", strings.Join(where, "\n"))
	}
	for _, w := range j.workers {
		if w.left {
			j.check.stats.Left++
		}
		if w.has && int(w.self.ID) > n {
			j.check.stats.Joined++
		}
	}
	if over != "" {
		j.check.stats.Over++
	}
	j.log("", "%s %+v", over, j.check.stats)
	return j.check.stats, j.check.err
}

// faults are what happens to a job.
type faults struct {
	job   *job
	r     *rand.Rand
	end   time.Duration // of all faults
	off   bool
	usual sim.Link
}

func (f *faults) link(a, b *worker, l sim.Link) {
	f.job.world.SetLink(a.self.Name, b.self.Name, l)
	f.job.world.SetLink(b.self.Name, a.self.Name, l)
}

func (f *faults) within(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(f.r.Int64N(int64(hi-lo)))
}

func (f *faults) plan() {
	f.end = f.within(300*time.Millisecond, 900*time.Millisecond)
	if f.r.IntN(3) == 0 {
		f.end *= 2
		f.storm()
	}
	for range 1 + f.r.IntN(5) {
		f.job.world.AfterFunc(f.within(0, f.end), func() {
			if !f.off && f.job.check.err == nil {
				f.one()
			}
		})
	}
}

// pick returns a worker that runs: any, or the one of rank 0.
func (f *faults) pick() *worker {
	running := f.job.running()
	if len(running) == 0 {
		return nil
	}
	if v := f.job.newest(); f.r.IntN(4) == 0 {
		for _, w := range running {
			if v.Rank(w.self.ID) == 0 {
				return w
			}
		}
	}
	return running[f.r.IntN(len(running))]
}

// spare says whether n more may die, so that most schedules go on to their end.
func (f *faults) spare(n int) bool {
	running := len(f.job.running())
	if f.job.authority == Majority && f.r.IntN(8) > 0 {
		v := f.job.newest()
		return 2*(len(f.job.living(v))-n) > len(v.Members)
	}
	return running > n
}

// one is one fault.
func (f *faults) one() {
	j := f.job
	switch f.r.IntN(15) {
	case 0, 1, 2: // one, two or three at once
		for range 1 + f.r.IntN(3) {
			f.kill()
		}
	case 3: // one during recovery, maybe the one that leads it
		before := j.cancelled
		j.cancelled = func(w *worker) {
			j.cancelled = before
			initiator := f.r.IntN(2) == 0
			j.world.AfterFunc(f.within(0, 15*time.Millisecond), func() {
				if initiator && f.spare(1) {
					j.kill(w)
				} else {
					f.kill()
				}
			})
		}
		f.kill()
	case 4, 5: // one is stopped, and comes back as a zombie
		if w := f.pick(); w != nil {
			f.freeze(w, f.within(10*time.Millisecond, 1500*time.Millisecond))
		}
	case 6, 7:
		f.partition(f.within(20*time.Millisecond, 1200*time.Millisecond))
	case 8: // someone joins, and may die at any time
		w := j.newWorker(fmt.Sprintf("w%d", 10+len(j.workers)))
		j.log(w.name(), "wants to join")
		w.start(nil)
		if f.r.IntN(3) == 0 {
			j.world.AfterFunc(f.within(0, 300*time.Millisecond), func() { j.kill(w) })
		}
	case 9: // someone leaves
		if w := f.pick(); w != nil && f.spare(1) && !w.leaving {
			j.log(w.name(), "wants to leave")
			w.leaving = true
			w.handle(Wish{Leave: true})
		}
	case 10: // someone is slow
		if w := f.pick(); w != nil {
			w.slow = 10
			j.world.AfterFunc(f.within(0, time.Second), func() { w.slow = 1 })
		}
	case 11: // the connections between two break time and again
		a, b := f.pick(), f.pick()
		if a != nil && a != b {
			f.cut(a, b, f.within(10*time.Millisecond, 500*time.Millisecond))
		}
	case 12: // someone suspects another for no reason
		if w, o := f.pick(), f.pick(); w != nil && w != o {
			w.handle(Suspect{o.self.ID})
		}
	case 13: // messages to one are slow
		if w := f.pick(); w != nil {
			for _, o := range j.running() {
				f.link(o, w, sim.Link{Min: time.Millisecond, Max: 60 * time.Millisecond})
			}
			j.world.AfterFunc(f.within(10*time.Millisecond, 500*time.Millisecond), func() {
				for _, o := range j.workers {
					f.link(o, w, f.usual)
				}
			})
		}
	case 14: // the authority dies and is started again, or is frozen
		if f.r.IntN(2) == 0 && j.register.up {
			j.log("auth", "is killed")
			j.register.up = false
			j.world.Kill("authority")
			j.world.AfterFunc(f.within(50*time.Millisecond, time.Second), func() { j.register.serve() })
		} else {
			j.log("auth", "is frozen")
			j.world.Freeze("authority")
			j.world.AfterFunc(f.within(50*time.Millisecond, time.Second), func() { j.world.Thaw("authority") })
		}
	}
}

// storm makes changes meet failures again and again.
func (f *faults) storm() {
	often := 4 + f.r.IntN(20)
	f.job.round = func(w *worker, _ Message) {
		if f.r.IntN(often) > 0 {
			return
		}
		switch f.r.IntN(8) {
		case 0:
			f.kill()
		case 1:
			if f.spare(1) {
				f.job.kill(w)
			}
		case 2, 3:
			f.freeze(w, f.within(5*time.Millisecond, 300*time.Millisecond))
		case 4:
			f.partition(f.within(5*time.Millisecond, 200*time.Millisecond))
		default:
			if o := f.pick(); o != nil && o != w {
				f.cut(o, w, f.within(5*time.Millisecond, 200*time.Millisecond))
			}
		}
	}
}

func (f *faults) freeze(w *worker, d time.Duration) {
	f.job.log(w.name(), "is frozen")
	f.job.world.Freeze(w.self.Name)
	f.job.world.AfterFunc(d, func() {
		f.job.log(w.name(), "is thawed")
		f.job.world.Thaw(w.self.Name)
	})
}

// cut lets the connections between two break time and again.
func (f *faults) cut(a, b *worker, d time.Duration) {
	f.job.log("", "no connection of %s and %s holds", a.name(), b.name())
	f.link(a, b, sim.Link{Min: time.Millisecond, Max: 3 * time.Millisecond, Reset: 0.5})
	f.job.world.AfterFunc(d, func() { f.link(a, b, f.usual) })
}

func (f *faults) kill() {
	if w := f.pick(); w != nil && f.spare(1) {
		f.job.kill(w)
		if f.r.IntN(3) == 0 { // its place is taken again
			f.job.world.AfterFunc(f.within(0, 400*time.Millisecond), func() {
				n := f.job.newWorker(w.self.Name)
				f.job.log(n.name(), "is started again")
				n.start(nil)
			})
		}
	}
}

// partition cuts the hosts in two sides, such as 3|2 and 2|2.
func (f *faults) partition(d time.Duration) {
	var sides [2][]string
	for i, w := range f.job.running() {
		side := i % 2
		if f.r.IntN(3) == 0 {
			side = f.r.IntN(2)
		}
		sides[side] = append(sides[side], w.self.Name)
	}
	side := f.r.IntN(3) // the authority on either side, or reached by nobody
	if side < 2 {
		sides[side] = append(sides[side], "authority")
	}
	f.job.log("", "partition %v | %v", sides[0], sides[1])
	f.job.world.Partition(sides[0], sides[1])
	f.job.world.AfterFunc(d, func() {
		f.job.log("", "heal")
		f.job.world.Heal()
	})
}

// stop ends all faults.
func (f *faults) stop() {
	f.off = true
	f.job.cancelled, f.job.round = func(*worker) {}, func(*worker, Message) {}
	f.job.world.Heal()
	for _, w := range f.job.running() {
		f.job.world.Thaw(w.self.Name)
		w.slow = 1
		for _, o := range f.job.workers {
			f.link(o, w, f.usual)
		}
	}
	f.job.world.Thaw("authority")
}

var only = flag.Uint64("schedule", 0, "run this schedule alone and tell what happens in it")

func TestSchedules(t *testing.T) {
	if *only != 0 {
		if _, err := schedule(*only, options{trace: os.Stderr}); err != nil {
			t.Error(err)
		}
		return
	}
	n := uint64(10_000)
	if testing.Short() {
		n = 100
	}
	var mu sync.Mutex
	var total stats
	next := uint64(0)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				mu.Lock()
				next++
				seed := next
				mu.Unlock()
				if seed > n || t.Failed() {
					return
				}
				s, err := schedule(seed, options{})
				if err != nil {
					var trace bytes.Buffer
					_, again := schedule(seed, options{trace: &trace})
					t.Errorf("schedule %d: %v\nonce more (all of it: go test -v -run TestSchedules . -args -schedule %[1]d): %v\n%s", seed, err, again, tail(trace.String(), 400))
				}
				mu.Lock()
				total.add(s)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("%d schedules: %+v", n, total)
	if happened := reflect.ValueOf(total); !testing.Short() {
		for i := range happened.NumField() {
			if happened.Field(i).IsZero() {
				t.Errorf("no schedule has any %s in it", happened.Type().Field(i).Name)
			}
		}
	}
}

// tail returns the last lines of a text.
func tail(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
