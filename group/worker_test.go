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
}

func newCrew(t *testing.T, n int) *crew {
	c := &crew{t: t, dir: t.TempDir(), elements: 3000, samples: 500, batch: 24}
	for i := range n {
		c.founders = append(c.founders, Member{
			ID: ID(100 + i), Name: fmt.Sprintf("w%d", i), Addr: c.addr(fmt.Sprintf("w%d", i)), Host: "here",
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
	c.t.Cleanup(h.stop)
	return h
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

func (c *crew) deadline() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
