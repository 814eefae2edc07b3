package group

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestRecovery measures how long it takes from a SIGKILL at a random moment to the next committed step,
// with a replacement that joins after each. It runs where MILLRACE_RECOVERY says how, as in
// {"Kills":20,"Workers":4,"Elements":25000000,"Light":1000000}; its figures are printed, the replay
// of all that happened is checked.
func TestRecovery(t *testing.T) {
	text := os.Getenv("MILLRACE_RECOVERY")
	if text == "" {
		t.Skip("set MILLRACE_RECOVERY")
	}
	o := struct {
		Kills, Workers, Elements, Light int
		Ring                            bool
		Rest                            time.Duration
	}{}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, o.Workers, toySpec{
		Elements: o.Elements, Light: o.Light, Samples: 1000, Batch: 16, Last: 1 << 40, Views: true, Register: true, Rest: o.Rest,
	})
	for i := range f.spec.Founders {
		f.spec.Founders[i].Host = "one"
		if o.Ring {
			f.spec.Founders[i].Host = fmt.Sprint("host", i)
		}
	}
	f.spec.Self.Host = f.spec.Founders[0].Host
	var alive []*proc
	for i := range o.Workers {
		alive = append(alive, f.start(i, ""))
	}
	for _, p := range alive {
		p.reach(t, 3)
	}
	var losses, views, planes, commits, steps []time.Duration
	for kill := range o.Kills {
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		at := rand.IntN(len(alive))
		victim := alive[at]
		alive = slices.Delete(alive, at, at+1)
		steps = append(steps, alive[0].stepTime())
		epoch := alive[0].at().Epoch
		killed := time.Now()
		victim.cmd.Process.Signal(syscall.SIGKILL) //nolint:errcheck // it is waited for below
		var view, plane, commit time.Duration
		loss := time.Hour
		for _, p := range alive {
			l := p.await(t, func(l toyLine) bool { return l.Event == "a view is in force" && l.Epoch > epoch })
			view = max(view, time.Unix(0, l.Time).Sub(killed))
			l = p.await(t, func(l toyLine) bool { return l.Event == "data can move" && l.Epoch > epoch })
			plane = max(plane, time.Unix(0, l.Time).Sub(killed))
			p.mu.Lock()
			for _, l := range p.lines {
				if l.Event == "the members share no memory" {
					t.Log(p.name, l.Epoch, l.Err, time.Unix(0, l.Time).Sub(killed))
				}
				if since := time.Unix(0, l.Time).Sub(killed); l.Event == "a member is lost" && since > 0 {
					t.Log(l.Err, since)
					loss = min(loss, since)
				}
			}
			p.mu.Unlock()
			l = p.await(t, func(l toyLine) bool { return l.Event == "" && l.Epoch > epoch })
			commit = max(commit, time.Unix(0, l.Time).Sub(killed))
		}
		losses = append(losses, loss)
		views, planes, commits = append(views, view), append(planes, plane), append(commits, commit)
		<-victim.done
		p := f.join(fmt.Sprintf("n%d", kill), "")
		alive = append(alive, p)
		p.await(t, func(l toyLine) bool { return l.Samples > 0 })
	}
	t.Logf("step           %s", spread(steps))
	t.Logf("kill to loss   %s", spread(losses))
	t.Logf("kill to view   %s", spread(views))
	t.Logf("kill to plane  %s", spread(planes))
	t.Logf("kill to commit %s", spread(commits))
	for _, p := range alive {
		p.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck
	}
}

func spread(d []time.Duration) string {
	slices.Sort(d)
	at := func(q float64) time.Duration { return d[int(q*float64(len(d)-1))].Round(100 * time.Microsecond) }
	return fmt.Sprintf("min %v  p50 %v  p90 %v  p99 %v  max %v  (%d)", at(0), at(0.5), at(0.9), at(0.99), at(1), len(d))
}

func (p *proc) at() toyLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// stepTime is the mean time of the newest ten steps.
func (p *proc) stepTime() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var times []int64
	for _, l := range p.lines[max(0, len(p.lines)-12):] {
		if l.Event == "" {
			times = append(times, l.Time)
		}
	}
	if len(times) < 2 {
		return 0
	}
	return time.Duration((times[len(times)-1] - times[0]) / int64(len(times)-1))
}

// await waits for a line.
func (p *proc) await(t *testing.T, wanted func(toyLine) bool) toyLine {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		p.mu.Lock()
		i := slices.IndexFunc(p.lines, wanted)
		var l toyLine
		if i >= 0 {
			l = p.lines[i]
		}
		p.mu.Unlock()
		if i >= 0 {
			return l
		}
		select {
		case <-p.news:
		case <-p.done:
			t.Fatalf("%s has ended: %s", p.name, p.at().Err)
		case <-limit:
			t.Fatalf("%s is still at step %d of epoch %d", p.name, p.at().Step, p.at().Epoch)
		}
	}
}
