package crew

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"millrace.dev/control"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/cpu"
	"millrace.dev/learn/nn"
	"millrace.dev/learn/optim"
	"millrace.dev/learn/train"
)

// bench is one member in this process: a trainer and its side of the group.
type bench struct {
	*Member
	name    string
	losses  []float64 // of each step, over all members
	skipped []string
	journal string
	hash    uint64
	err     error
	release func() error
}

// Commit implements train.Group: it notes what all agreed on.
func (b *bench) Commit(ctx context.Context, own train.Tally) (train.Verdict, error) {
	v, err := b.Member.Commit(ctx, own)
	if err == nil && !v.Void {
		b.losses = append(b.losses, v.Total.Loss())
		if !v.Apply {
			b.skipped = append(b.skipped, v.Culprit)
		}
	}
	return v, err
}

// together trains a configuration with n members over Unix sockets, majority deciding. Change
// adapts what is one member's own.
func together(t *testing.T, n int, cfg func() train.Config, change func(i int, c *train.Config)) []*bench {
	t.Helper()
	dir := t.TempDir()
	var founders []group.Member
	for i := range n {
		name := fmt.Sprint("w", i)
		founders = append(founders, group.Member{ID: group.NewID(), Name: name, Addr: "unix:" + filepath.Join(dir, name), Host: group.ThisHost()})
	}
	var benches []*bench
	var running sync.WaitGroup
	for i := range n {
		c := cfg()
		b := &bench{name: founders[i].Name, journal: filepath.Join(dir, fmt.Sprint("events", i))}
		benches = append(benches, b)
		network, err := network(keys.Place{}, b.name)
		if err != nil {
			t.Fatal(err)
		}
		b.Member = newMember(group.Config{
			Group: "test", Self: founders[i], Founders: founders, Network: network,
			Data: group.Data{Samples: uint64(c.Train.Len()), Batch: uint64(c.Batch), Base: uint64(c.Batch)},
		}, chronicle{machine: machine{1, 2}, terms: Terms{Base: c.Batch}, batch: c.Batch}, func(*Change, *skipWord) {})
		engine, err := cpu.New(1)
		if err != nil {
			t.Fatal(err)
		}
		if c.Journal, err = control.OpenJournal(b.journal); err != nil {
			t.Fatal(err)
		}
		c.Group, c.Engine = b, engine
		if change != nil {
			change(i, &c)
		}
		b.release = func() error { return errors.Join(network.Close(), engine.Close()) }
		running.Go(func() {
			tr, err := train.New(c)
			if err == nil {
				err = tr.Run(context.Background())
				b.hash = tr.Hash()
			}
			b.err = errors.Join(err, c.Journal.Close())
		})
	}
	running.Wait()
	for _, b := range benches {
		if err := errors.Join(b.close(), b.release()); err != nil {
			t.Error(err)
		}
	}
	return benches
}

// plain is a run of 100 steps on Fashion-MNIST of a network without normalisation and chance.
func plain(t *testing.T, steps int) func() train.Config {
	t.Helper()
	set, err := data.Open(data.DefaultName, data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	norm, err := data.MeasureNorm(set.Train)
	if err != nil {
		t.Fatal(err)
	}
	ds, err := data.Normalize(set.Train, norm)
	if err != nil {
		t.Fatal(err)
	}
	return func() train.Config {
		m, err := nn.Sequential("net", nn.Input("image", 28, 28, 1), nn.Flatten{}, nn.Dense{Units: 32, Act: nn.ReLU}, nn.Dense{Units: 10})
		if err != nil {
			t.Fatal(err)
		}
		return train.Config{
			Model: m, Loss: nn.Loss{Kind: nn.CrossEntropy}, Optimizer: optim.SGD(0.9), Schedule: optim.Constant(0.02),
			Train: ds, Batch: 64, Steps: steps, Seed: 3,
		}
	}
}

// TestFollowsOneWorker trains with one worker on batches of 64 and with four on 16 each: the curves
// are one.
func TestFollowsOneWorker(t *testing.T) {
	steps := 100
	one, four := together(t, 1, plain(t, steps), nil), together(t, 4, plain(t, steps), nil)
	for _, b := range append(one, four...) {
		if b.err != nil {
			t.Fatal(b.err)
		}
		if len(b.losses) != steps {
			t.Fatalf("%s took %d steps", b.name, len(b.losses))
		}
	}
	worst := 0.0
	for i, want := range one[0].losses {
		worst = max(worst, math.Abs(four[0].losses[i]-want)/want)
	}
	if worst > 1e-3 || math.IsNaN(worst) {
		t.Errorf("the losses differ by up to %.2g", worst)
	}
	t.Logf("the losses differ by up to %.2g; they fall from %.3f to %.3f", worst, one[0].losses[0], one[0].losses[steps-1])
	if last := one[0].losses[steps-1]; last > one[0].losses[0]/2 {
		t.Errorf("the loss only falls from %.3f to %.3f", one[0].losses[0], last)
	}
	for _, b := range four[1:] {
		if b.hash != four[0].hash {
			t.Errorf("%s has other numbers than %s", b.name, four[0].name)
		}
	}
}

// poisoned is a data set that gives numbers that are none from a batch on, for some batches.
type poisoned struct {
	data.Dataset
	batches, from, to int
}

// Batch implements data.Dataset.
func (p *poisoned) Batch(x []float32, y []int32, indices []int) error {
	err := p.Dataset.Batch(x, y, indices)
	if len(indices) > 1 { // not one of those that look at the set before
		if p.batches++; p.batches > p.from && p.batches <= p.to {
			x[0] = float32(math.NaN())
		}
	}
	return err
}

// TestNotFinite has one worker of three compute numbers that are none: all skip the step, know whose
// fault it is, and go on alike. When that does not end, all give up and name the worker.
func TestNotFinite(t *testing.T) {
	for _, c := range []struct {
		to   int
		skip int
		ends bool
	}{{to: 6, skip: 2}, {to: 100, skip: 4, ends: true}} {
		crew := together(t, 3, plain(t, 12), func(i int, cfg *train.Config) {
			if i == 1 {
				cfg.Train = &poisoned{Dataset: cfg.Train, from: 4, to: c.to}
			}
		})
		for _, b := range crew {
			if len(b.skipped) != c.skip || b.skipped[0] != "w1" {
				t.Errorf("%s skipped steps because of %v, want %d because of w1", b.name, b.skipped, c.skip)
			}
			if b.hash != crew[0].hash {
				t.Errorf("%s has other numbers than %s", b.name, crew[0].name)
			}
			if c.ends != (b.err != nil) || c.ends && b.name != "w1" && !strings.Contains(b.err.Error(), "worker w1") {
				t.Errorf("%s ended with %v", b.name, b.err)
			}
			decisions, _, err := control.ReadDecisions(b.journal)
			if err != nil {
				t.Fatal(err)
			}
			said := 0
			for _, d := range decisions {
				if d.Subject == train.SettingSkipped && strings.Contains(d.Reason, "the gradient of w1 was not finite: step ") {
					said++
				}
			}
			if said != min(c.skip, 3) { // the fourth ends it
				t.Errorf("%s wrote down %d skipped steps", b.name, said)
			}
		}
	}
}

// TestMemberLeaves ends a member's context: it leaves after the step under way and the others go on.
func TestMemberLeaves(t *testing.T) {
	crew := together(t, 2, plain(t, 30), func(i int, cfg *train.Config) {
		if i == 1 {
			cfg.Train = &leaver{Dataset: cfg.Train, member: cfg.Group.(*bench).Member, at: 5}
		}
	})
	if !errors.Is(crew[1].err, train.ErrLeft) || len(crew[1].losses) >= 30 {
		t.Errorf("it ended with %v after %d steps", crew[1].err, len(crew[1].losses))
	}
	if crew[0].err != nil || len(crew[0].losses) != 30 {
		t.Errorf("the other ended with %v after %d steps", crew[0].err, len(crew[0].losses))
	}
	if reason := crew[0].chronicle.view; len(reason.Members) != 1 {
		t.Errorf("it ended in the view %+v", reason)
	}
}

// leaver is a data set whose reader leaves in the middle of a step.
type leaver struct {
	data.Dataset
	member      *Member
	batches, at int
}

// Batch implements data.Dataset.
func (l *leaver) Batch(x []float32, y []int32, indices []int) error {
	if len(indices) > 1 {
		if l.batches++; l.batches == l.at {
			l.member.Leave()
		}
	}
	return l.Dataset.Batch(x, y, indices)
}
