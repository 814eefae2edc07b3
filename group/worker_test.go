package group

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace.dev/fabric"
	"millrace.dev/group/steplog"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(toyVariable); text != "" {
		os.Exit(toyMain(text))
	}
	if text := os.Getenv(serviceVariable); text != "" {
		os.Exit(serviceMain(text))
	}
	goleak.VerifyTestMain(m)
}

// crew is workers of one group in this process.
type crew struct {
	t        *testing.T
	dir      string
	elements int
	samples  uint64
	batch    uint64
	founders []Member
	logs     []string
	config   func(*Config)
	passing  bool // workers are stopped by the test itself
}

func newCrew(t *testing.T, n int) *crew {
	c := &crew{t: t, dir: t.TempDir(), elements: 3000, samples: 500, batch: 24}
	for i := range n {
		c.founders = append(c.founders, Member{
			ID: NewID(), Name: fmt.Sprintf("w%d", i), Addr: c.addr(fmt.Sprintf("w%d", i)), Host: "here",
		})
	}
	return c
}

func (c *crew) addr(name string) string { return "unix:" + filepath.Join(c.dir, name) }

// hand is one worker and its model.
type hand struct {
	*Worker
	model *toy
	log   *steplog.Writer
	net   *fabric.Sockets
	err   error
}

func (c *crew) start(self Member, join ...string) *hand {
	c.t.Helper()
	net, err := fabric.NewSockets(fabric.Options{Name: self.Name})
	if err != nil {
		c.t.Fatal(err)
	}
	dir := filepath.Join(c.dir, self.Name+"-log")
	log, err := steplog.Open(dir, steplog.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.logs = append(c.logs, dir)
	h := &hand{model: newToy(c.elements), log: log, net: net}
	config := Config{
		Group: c.t.Name(), Self: self, Network: net, Elements: c.elements, State: h.model, Log: log,
		Data: Data{Samples: c.samples, Batch: c.batch},
	}
	if testing.Verbose() {
		config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if len(join) == 0 {
		config.Founders = c.founders
	} else {
		config.Join = join
	}
	if c.config != nil {
		c.config(&config)
	}
	if h.Worker, err = Start(context.Background(), config); err != nil {
		c.t.Fatal(err)
	}
	if !c.passing {
		c.t.Cleanup(h.stop)
	}
	return h
}

// found starts all founders.
func (c *crew) found() (hands []*hand) {
	for _, m := range c.founders {
		hands = append(hands, c.start(m))
	}
	return hands
}

func (h *hand) stop() {
	h.Close()     //nolint:errcheck // the test is over
	h.net.Close() //nolint:errcheck
	h.log.Close() //nolint:errcheck
}

// check replays the logs and compares what all models ended with.
func (c *crew) check(hands ...*hand) []steplog.Record {
	c.t.Helper()
	records, err := steplog.Merge(c.logs...)
	if err != nil {
		c.t.Fatal(err)
	}
	model, err := replay(c.elements, records)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := lostSamples(records, c.samples); err != nil {
		c.t.Error(err)
	}
	for _, h := range hands {
		if h.model.step == model.step && h.model.hash() != model.hash() {
			c.t.Errorf("%s ends with hash %x, the replay with %x", h.config.Self.Name, h.model.hash(), model.hash())
		}
	}
	return records
}

// patience is what only a hang takes, on a slow and loaded machine, too.
const patience = 5 * time.Minute

func (c *crew) deadline() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

func TestFoundersTrain(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCrew(t, n)
			ctx := c.deadline()
			var hands []*hand
			var all sync.WaitGroup
			for _, m := range c.founders {
				h := c.start(m)
				hands = append(hands, h)
				all.Go(func() { h.err = h.model.train(ctx, h.Worker, 50, nil) })
			}
			all.Wait()
			for _, h := range hands {
				if h.err != nil {
					t.Errorf("%v; %+v", h.err, h.Status())
				}
			}
			if records := c.check(hands...); len(records) != 50 {
				t.Errorf("%d steps in the logs", len(records))
			}
		})
	}
}

// TestDeath closes workers in the midst of steps: to the others that is death. The rest goes on.
func TestDeath(t *testing.T) {
	for _, hosts := range []int{1, 5} {
		t.Run(fmt.Sprint(hosts, " hosts"), func(t *testing.T) {
			c := newCrew(t, 5)
			for i := range c.founders {
				c.founders[i].Host = fmt.Sprint(i % hosts)
			}
			ctx := c.deadline()
			var hands []*hand
			var all sync.WaitGroup
			for i, m := range c.founders {
				h := c.start(m)
				hands = append(hands, h)
				last := uint64(60)
				if i == 0 || i == 3 {
					last = uint64(10 + 7*i)
				}
				all.Go(func() {
					h.err = h.model.train(ctx, h.Worker, last, nil)
					if last < 60 {
						h.Close() //nolint:errcheck // it dies
					}
				})
			}
			all.Wait()
			for _, h := range hands {
				if h.err != nil {
					t.Errorf("%v; %+v", h.err, h.Status())
				}
			}
			if records := c.check(hands...); len(records) != 60 || len(records[59].Parts) != 3 {
				t.Errorf("%d steps in the logs, the last of %v", len(records), records[len(records)-1].Parts)
			}
		})
	}
}

// TestJoin lets a worker in while the others train.
func TestJoin(t *testing.T) {
	for _, hosts := range []int{1, 5} {
		t.Run(fmt.Sprint(hosts, " hosts"), func(t *testing.T) {
			c := newCrew(t, 2)
			ctx := c.deadline()
			for i := range c.founders {
				c.founders[i].Host = fmt.Sprint(i % hosts)
			}
			var hands []*hand
			var all sync.WaitGroup
			ready := make(chan struct{}) // the group has taken some steps
			var once sync.Once
			for _, m := range c.founders {
				h := c.start(m)
				hands = append(hands, h)
				all.Go(func() {
					h.err = h.model.train(ctx, h.Worker, 400, func(s *Step, r Result) {
						if r.Step == 5 {
							once.Do(func() { close(ready) })
						}
						if r.Step > 5 {
							time.Sleep(time.Millisecond)
						}
					})
				})
			}
			<-ready
			h := c.start(Member{Name: "late", Addr: c.addr("late"), Host: fmt.Sprint(2 % hosts)}, c.founders[0].Addr)
			hands = append(hands, h)
			var first, gave uint64
			all.Go(func() {
				h.err = h.model.train(ctx, h.Worker, 400, func(s *Step, r Result) {
					if first == 0 {
						first = s.Number
					}
					if gave == 0 && s.Weight > 0 {
						gave = s.Number
					}
				})
			})
			all.Wait()
			for _, h := range hands {
				if h.err != nil {
					t.Errorf("%v; %+v", h.err, h.Status())
				}
			}
			c.check(hands...)
			t.Logf("let in with step %d, a share from step %d on", first, gave)
			if first == 0 || gave <= first || gave > first+maxQueue+2 { // then the others wait for it
				t.Errorf("its first step is %d and its first share in step %d", first, gave)
			}
		})
	}
}
