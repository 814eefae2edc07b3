package group

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/fabric"
)

// The faults of machines and networks, with each worker a process. Each test ends with the replay of what the
// workers have logged.

// reachTogether waits until each of the processes has committed a step with so many members, after the last that
// any of them knows now.
func (f *fleet) reachTogether(members int, processes ...*proc) {
	t := f.t
	t.Helper()
	after := uint64(0)
	for _, p := range processes {
		after = max(after, p.at().Step)
	}
	limit := time.After(patience)
	for _, p := range processes {
		for {
			if l := p.at(); l.Step > after && l.Members == members {
				break
			}
			select {
			case <-p.news:
			case <-p.done:
				t.Fatalf("%s has ended: %+v", p.name, p.at())
			case <-limit:
				f.situations(processes)
				t.Fatalf("%s does not take a step with %d members: %+v", p.name, members, p.at())
			}
		}
	}
}

// situations tells what processes wait for.
func (f *fleet) situations(processes []*proc) {
	for _, p := range processes {
		f.t.Logf("%s: %s", p.name, f.situation(p))
	}
}

// situation asks a process what it does.
func (f *fleet) situation(p *proc) string {
	sockets, err := fabric.NewSockets(fabric.Options{Name: "test"})
	if err != nil {
		f.t.Fatal(err)
	}
	defer sockets.Close() //nolint:errcheck // nothing is lost with it
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	text, err := Ask(ctx, sockets, []string{"unix:" + filepath.Join(f.spec.Dir, p.name)}, Question{Status: true})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// stalled checks that processes commit at most the step that was under way, for as long as others take steps and
// some time more.
func stalled(t *testing.T, since []uint64, processes ...*proc) {
	t.Helper()
	for i, p := range processes {
		if l := p.at(); l.Step > since[i]+1 {
			t.Errorf("%s has committed step %d, where its side may not go beyond %d", p.name, l.Step, since[i]+1)
		}
	}
}

func steps(processes ...*proc) []uint64 {
	var all []uint64
	for _, p := range processes {
		all = append(all, p.at().Step)
	}
	return all
}

// campaign is the time of a fault that lasts: short in the usual run, long where all is to be shown.
func campaign(short, long time.Duration) time.Duration {
	if everything() {
		return long
	}
	return short
}

// patient is how long a worker may be silent in a campaign: over a minute, a machine with other work may let one
// wait for a second that is as alive as the others.
func patient() time.Duration { return campaign(DefaultSuspect, 3*DefaultSuspect) }

func labSpec() toySpec {
	return toySpec{Elements: 20_000, Samples: 1000, Batch: 20, Hash: 3, Rest: 5 * time.Millisecond, Suspect: DefaultSuspect}
}

// TestPartition parts five workers 3|2 and four 2|2: at most one side goes on, the side that the authority is with;
// when the network heals the others come back.
func TestPartition(t *testing.T) {
	seconds(t)
	for _, c := range []struct {
		name    string
		workers int
		others  []int // on the other side; the machine after the workers' is the service's
		goes    []int // the workers that go on
		service bool
	}{
		{"3 of 5 by majority", 5, []int{3, 4}, []int{0, 1, 2}, false},
		{"2 of 5 by a service", 5, []int{3, 4, 5}, []int{3, 4}, true},
		{"none of 2 and 2 by majority", 4, []int{0, 3}, nil, false},
		{"one of 2 and 2 by a service", 4, []int{1, 2}, []int{0, 3}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.workers, labSpec())
			if c.service {
				l.serve()
			}
			all := l.run()
			l.reachTogether(c.workers, all...)
			l.cut(c.others...)
			time.Sleep(l.spec.Suspect) // what was committed before has been told
			at := steps(all...)
			var on, off []*proc
			var offAt []uint64
			for i, p := range all {
				if slices.Contains(c.goes, i) {
					on = append(on, p)
				} else {
					off, offAt = append(off, p), append(offAt, at[i])
				}
			}
			if len(on) > 0 {
				l.reachTogether(len(on), on...)
				for range 10 {
					l.reachTogether(len(on), on...)
				}
			} else {
				time.Sleep(4 * l.spec.Suspect)
			}
			stalled(t, offAt, off...)
			l.heal()
			l.reachTogether(c.workers, all...)
			l.end(all...)
		})
	}
}

// TestThinLink trains over links of 10 Mbit/s: nobody is taken for dead.
func TestThinLink(t *testing.T) {
	seconds(t)
	spec := labSpec()
	spec.Suspect = patient()
	l := newLab(t, 5, spec)
	l.slow("10mbit")
	all := l.run()
	all[0].reach(t, 3)
	time.Sleep(campaign(time.Second, time.Minute))
	for _, r := range l.end(all...) {
		if r.View != 1 || len(r.Parts) != 5 {
			t.Fatalf("step %d was reduced by %d members in view %d", r.Step, len(r.Parts), r.View)
		}
	}
}

// TestTenfoldSlow lets a worker run for a tenth of the time only: it is never taken for dead.
func TestTenfoldSlow(t *testing.T) {
	seconds(t)
	f := newFleet(t, 4, toySpec{Elements: 400_000, Samples: 1000, Batch: 20, Hash: 3, Rest: 2 * time.Millisecond, Suspect: patient()})
	var all []*proc
	for i := range 4 {
		all = append(all, f.start(i, ""))
	}
	all[0].reach(t, 3)
	dead := 0 // how often the worker stood still for longer, as the test did not get the processor in time
	for end := time.Now().Add(campaign(2*time.Second, time.Minute)); time.Now().Before(end); {
		stop(t, all[2])
		stopped := time.Now()
		time.Sleep(450 * time.Millisecond)
		all[2].cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // the end tells
		if time.Since(stopped) > 3*DefaultSuspect/4 {
			dead++
		}
		time.Sleep(50 * time.Millisecond)
		f.situation(all[2]) // if others have the processors, until it has had one
	}
	for _, r := range f.end(all...) {
		if dead == 0 && (r.View != 1 || len(r.Parts) != 4) {
			t.Fatalf("step %d was reduced by %d members in view %d", r.Step, len(r.Parts), r.View)
		}
	}
}

// TestServiceKilled kills the membership service: training goes on, a change of the members waits until it is back.
func TestServiceKilled(t *testing.T) {
	seconds(t)
	f := newFleet(t, 4, toySpec{Elements: 40_000, Samples: 1000, Batch: 20, Hash: 3, Rest: 5 * time.Millisecond, Suspect: patience})
	s := startService(t, cluster.Config{Dir: filepath.Join(f.spec.Dir, "store"), Listen: "127.0.0.1:0"})
	f.spec.Service = &cluster.Config{URL: s.url}
	var all []*proc
	for i := range 4 {
		all = append(all, f.start(i, ""))
	}
	f.reachTogether(4, all...)
	s.kill()
	for range 10 {
		f.reachTogether(4, all...)
	}
	all[1].cmd.Process.Kill() //nolint:errcheck // it is waited for
	<-all[1].done
	left := []*proc{all[0], all[2], all[3]}
	at := steps(left...)
	time.Sleep(time.Second)
	stalled(t, at, left...)
	s.start()
	f.reachTogether(3, left...)
	f.end(left...)
}

// TestKillsAtOnce kills several workers in the same instant, rank 0 among them.
func TestKillsAtOnce(t *testing.T) {
	seconds(t)
	for _, c := range []struct {
		victims  []int
		register bool
	}{{[]int{0, 1}, false}, {[]int{0, 2, 4}, true}, {[]int{1, 2, 3}, true}} {
		t.Run(fmt.Sprint(c.victims), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 6, toySpec{Elements: 400_000, Samples: 1000, Batch: 20, Hash: 3, Rest: time.Millisecond, Register: c.register, Suspect: patience})
			var all, left []*proc
			for i := range 6 {
				all = append(all, f.start(i, ""))
			}
			f.reachTogether(6, all...)
			for i, p := range all {
				if slices.Contains(c.victims, i) {
					p.cmd.Process.Kill() //nolint:errcheck // its end is of no interest
				} else {
					left = append(left, p)
				}
			}
			f.reachTogether(len(left), left...)
			f.end(left...)
		})
	}
}

// TestFullDisk lets one worker's step log run out of space: training goes on, and the worker says so.
func TestFullDisk(t *testing.T) {
	seconds(t)
	needRoot(t, "mount", "umount")
	f := newFleet(t, 3, toySpec{Elements: 4000, Samples: 1000, Batch: 20, Hash: 3, Suspect: patience})
	disk := filepath.Join(f.spec.Dir, "w1-log")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("millrace-test", disk, "tmpfs", 0, "size=16k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	var all []*proc
	for i := range 3 {
		all = append(all, f.start(i, ""))
	}
	all[1].reach(t, 200)
	f.end(all...)
	for i, p := range all {
		if told := strings.Contains(p.last.Status.Trouble, "step log misses"); told != (i == 1) {
			t.Errorf("%s says %q", p.name, p.last.Status.Trouble)
		}
	}
}
