package group

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group/collective"
)

// train starts all founders and trains until a step, each with what it is told after a step.
func (c *crew) train(last uint64, told func(h *hand, i int, s *Step, r Result)) []*hand {
	c.t.Helper()
	ctx := c.deadline()
	hands := c.found()
	var all sync.WaitGroup
	for i, h := range hands {
		all.Go(func() {
			h.err = h.model.train(ctx, h.Worker, last, func(s *Step, r Result) {
				if told != nil {
					told(h, i, s, r)
				}
			})
		})
	}
	all.Wait()
	return hands
}

// TestLeave lets workers leave at the end of steps, at last all: no step is lost or reduced twice.
func TestLeave(t *testing.T) {
	c := newCrew(t, 4)
	hands := c.train(1000, func(h *hand, i int, s *Step, r Result) {
		if r.Step == uint64(10+10*i) || r.Step == 55 {
			h.Leave()
		}
	})
	for i, h := range hands {
		if h.err != nil {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
		if want := uint64(11 + 10*i); h.model.step < want || h.model.step > want+1 {
			t.Errorf("w%d left after step %d, having wished so after step %d", i, h.model.step, want-1)
		}
	}
	records := c.check(hands[3])
	for i, r := range records {
		if want := max(1, 4-int(r.Step-2)/10); r.Step > 12 && len(r.Parts) > want+1 {
			t.Errorf("step %d has %d members", records[i].Step, len(r.Parts))
		}
	}
}

// TestPeerDown: a member that is said to be dead and is not comes back as another incarnation.
func TestPeerDown(t *testing.T) {
	c := newCrew(t, 3)
	void := false
	hands := c.train(150, func(h *hand, i int, s *Step, r Result) {
		if i == 1 && r.Step == 20 {
			h.PeerDown("w2")
		}
		if i == 2 && r.Outcome == Void {
			void = true
		}
		if time.Sleep(time.Millisecond); len(r.View.Members) < 3 {
			time.Sleep(30 * time.Millisecond) // there is time to come back before the last step
		}
	})
	for _, h := range hands {
		if h.err != nil {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
	}
	records := c.check(hands...)
	last := records[len(records)-1]
	if len(last.Parts) != 3 || last.Parts[2].Member == uint64(c.founders[2].ID) {
		t.Errorf("void step: %t; the last step is of %+v", void, last.Parts)
	}
}

// TestOtherPlan: all members learn who has another vector, and which tensor.
func TestOtherPlan(t *testing.T) {
	seconds(t)
	c := newCrew(t, 3)
	c.config = func(config *Config) {
		config.Tensors = []Tensor{{"dense/weight", 0, 2000}, {"dense/bias", 2000, 3000}}
		if config.Self.Name == "w1" {
			config.Tensors[0].Hi, config.Tensors[1].Lo = 1999, 1999
		}
	}
	for i, h := range c.train(5, nil) {
		var plan *PlanError
		switch {
		case !errors.As(h.err, &plan):
			t.Errorf("w%d: %v", i, h.err)
		case i != 1 && (plan.Rank != 1 || !strings.Contains(plan.What, `"dense/weight" has the elements 0 to 1999 there and 0 to 2000 here`)):
			t.Errorf("w%d: %v", i, plan)
		case i == 1 && plan.Rank == 1:
			t.Errorf("w%d: %v", i, plan)
		}
	}
}

// TestMisfitHasNoSay: a member with another vector takes all others for those that do not fit; they do not believe it.
func TestMisfitHasNoSay(t *testing.T) {
	self, peer, third := Member{ID: 7, Name: "self", Addr: "unix:/self"}, Member{ID: 8, Name: "peer", Addr: "unix:/peer"}, Member{ID: 9, Name: "third", Addr: "unix:/third"}
	network := &nets{}
	w, err := Start(context.Background(), Config{
		Group: "test", Self: self, Founders: []Member{self, peer, third}, Network: network, Elements: 16, Data: Data{Samples: 10, Batch: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // the test is over
	c := &sink{}
	h, err := network.accept(c)
	if err != nil {
		t.Fatal(err)
	}
	said := frames(typeHello, hello{Group: "test", From: peer, Plan: 1}, typeMisfit, PlanError{Member: "third", Rank: 2, What: "elements"}, typePlan, planMessage{Elements: 3})
	if err := feed(t, h, c, said); err != nil {
		t.Fatal(err)
	}
	w.Status() // the loop has handled everything
	var plan *PlanError
	if _, err := w.Begin(context.Background()); !errors.As(err, &plan) || plan.Member != "peer" {
		t.Errorf("%v", err)
	}
}

// TestNonFinite: a gradient that is not a number makes all skip the step, and its owner is named.
func TestNonFinite(t *testing.T) {
	for _, hosts := range []int{1, 3} {
		c := newCrew(t, 3)
		for i := range c.founders {
			c.founders[i].Host = string(rune('a' + i%hosts))
		}
		ctx := c.deadline()
		var hands []*hand
		var all sync.WaitGroup
		for i, m := range c.founders {
			h := c.start(m)
			hands = append(hands, h)
			all.Go(func() {
				for step := uint64(1); step <= 5; step++ {
					s, err := h.Begin(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					h.model.gradient(h.Gradients(), s.Epoch, s.Shares, nil)
					bad := i == 2 && step == 3
					if bad {
						h.Gradients()[1234] = float32(math.NaN())
					}
					r, err := s.Commit(ctx, Report{NonFinite: bad, Rate: toyRate, Hash: h.model.hash()})
					if err != nil {
						t.Error(err)
						return
					}
					if want := map[bool]Outcome{true: Skip, false: Apply}[step == 3]; r.Outcome != want {
						t.Errorf("step %d: %v", step, r.Outcome)
					}
					if r.Outcome == Apply {
						h.model.update(step, toyRate, r.Mean)
						continue
					}
					h.model.step = step
					for _, told := range r.Reports {
						if told.NonFinite != (told.Name == "w2") {
							t.Errorf("%s: %t", told.Name, told.NonFinite)
						}
					}
				}
			})
		}
		all.Wait()
		if records := c.check(hands...); len(records) != 5 || records[2].Outcome != "skip" {
			t.Errorf("%+v", records)
		}
	}
}

// TestDiverged: members whose parameters differ all learn whose.
func TestDiverged(t *testing.T) {
	c := newCrew(t, 3)
	hands := c.train(10, func(h *hand, i int, s *Step, r Result) {
		if i == 1 && r.Step == 4 {
			h.model.params[7]++
		}
	})
	for i, h := range hands {
		var diverged *DivergedError
		if !errors.As(h.err, &diverged) || diverged.Step != 5 || len(diverged.Hashes) != 3 || diverged.Hashes["w0"] != diverged.Hashes["w2"] {
			t.Errorf("w%d: %v", i, h.err)
		}
	}
}

// TestWeigh: without Data each worker says what its gradient weighs.
func TestWeigh(t *testing.T) {
	c := newCrew(t, 3)
	c.samples, c.batch = 0, 0
	ctx := c.deadline()
	var all sync.WaitGroup
	for i, m := range c.founders {
		h := c.start(m)
		all.Go(func() {
			for range 5 {
				s, err := h.Begin(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				s.Weigh(uint64(i))
				for e := range h.Gradients() {
					h.Gradients()[e] = float32(10 * i)
				}
				s.Ready(1000, 3000)
				r, err := s.Commit(ctx, Report{})
				if err != nil {
					t.Error(err)
					return
				}
				if r.Weight != 3 || r.Mean[0] != float32(0+10+2*20)*float32(1.0/3) || r.Mean[2999] != r.Mean[0] {
					t.Errorf("weight %d, mean %v", r.Weight, r.Mean[0])
				}
			}
		})
	}
	all.Wait()
}

// fallible is a register in memory that can be out of order.
type fallible struct {
	mu       sync.Mutex
	value    []byte
	revision uint64
	down     atomic.Bool
}

var errDown = errors.New("the service is down")

func (f *fallible) Load(context.Context) ([]byte, uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down.Load() {
		return nil, 0, errDown
	}
	return f.value, f.revision, nil
}

func (f *fallible) Swap(_ context.Context, value []byte, revision uint64) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down.Load() {
		return false, errDown
	}
	if revision != f.revision {
		return false, nil
	}
	f.value, f.revision = value, revision+1
	return true, nil
}

// TestServiceDown: while the authority cannot be reached the group trains; a view changes when it is
// back, and the status says meanwhile what is waited for.
func TestServiceDown(t *testing.T) {
	c := newCrew(t, 4)
	register := &fallible{}
	register.down.Store(true)
	c.config = func(config *Config) { config.Authority = ByRegister(register) }
	ctx := c.deadline()
	var hands []*hand
	var all sync.WaitGroup
	for i, m := range c.founders {
		h := c.start(m)
		hands = append(hands, h)
		last := map[bool]uint64{true: 10, false: 30}[i < 3]
		if i == 3 {
			last = 30
		}
		all.Go(func() {
			h.err = h.model.train(ctx, h.Worker, last, nil)
			if last == 10 {
				h.Close() //nolint:errcheck // it dies
			}
		})
	}
	survivor := hands[3]
	for !strings.Contains(survivor.Status().Waiting, "service") {
		if ctx.Err() != nil {
			t.Fatalf("%+v", survivor.Status())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if step := survivor.Status().Step; step < 9 {
		t.Errorf("stopped after step %d", step)
	}
	register.down.Store(false)
	all.Wait()
	for _, h := range hands {
		if h.err != nil {
			t.Error(h.err)
		}
	}
	c.check(survivor)
}

// TestMinority: three of five stand still; the two others cannot go on, and say so, until they move
// again.
func TestMinority(t *testing.T) {
	seconds(t)
	c := newCrew(t, 5)
	c.config = func(config *Config) { config.Suspect = 200 * time.Millisecond }
	ctx, cancel := context.WithCancel(c.deadline())
	var hands []*hand
	var all, still sync.WaitGroup
	var back atomic.Int32
	still.Add(3)
	move := make(chan struct{})
	for i, m := range c.founders {
		h := c.start(m)
		hands = append(hands, h)
		all.Go(func() {
			reached := false
			h.err = h.model.train(ctx, h.Worker, 1<<40, func(s *Step, r Result) {
				if i < 3 && r.Step == 10 {
					h.post(func(*loop) { still.Done(); <-move })
				}
				if i >= 3 && r.Step > 20 && !reached {
					reached = true
					back.Add(1)
				}
			})
		})
	}
	still.Wait()
	told := func() bool { // one leads, the other follows
		a, b := hands[3].Status().Waiting, hands[4].Status().Waiting
		return strings.Contains(a+b, "2 of its 5 members can be reached, more than half are needed; waiting for w0, w1, w2") &&
			strings.Contains(a, "w0, w1, w2") && strings.Contains(b, "w0, w1, w2")
	}
	for !told() {
		if ctx.Err() != nil {
			t.Fatalf("%+v; %+v", hands[3].Status(), hands[4].Status())
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, h := range hands[3:] {
		if s := h.Status(); s.Step > 10 || s.Epoch != 1 {
			t.Errorf("%+v", s)
		}
	}
	close(move)
	for back.Load() < 2 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	cancel()
	all.Wait()
	for _, h := range hands {
		if !errors.Is(h.err, context.Canceled) {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
	}
	c.check(hands...)
}

// TestSlow: a worker whose computation takes much longer than the time after which silence is death
// is not declared dead.
func TestSlow(t *testing.T) {
	seconds(t)
	c := newCrew(t, 3)
	c.config = func(config *Config) { config.Suspect = 500 * time.Millisecond }
	hands := c.train(2, func(h *hand, i int, s *Step, r Result) {
		if i == 1 {
			time.Sleep(1200 * time.Millisecond)
		}
	})
	records := c.check(hands...)
	for _, r := range records {
		if r.View != 1 {
			t.Errorf("step %d in view %d", r.Step, r.View)
		}
	}
}

// TestAsk asks members from outside.
func TestAsk(t *testing.T) {
	c := newCrew(t, 3)
	c.config = func(config *Config) { config.About = []byte("what it trains") }
	ctx := c.deadline()
	net, err := fabric.NewSockets(fabric.Options{Name: "visitor"})
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close() //nolint:errcheck // the test is over
	addrs := []string{c.addr("nobody"), c.founders[1].Addr}
	asked := false
	hands := c.train(1000, func(h *hand, i int, s *Step, r Result) {
		if i != 0 || r.Step < 10 || asked {
			if r.Step == 900 {
				t.Error("w2 does not leave")
			}
			return
		}
		asked = true
		about, err := Ask(ctx, net, addrs, Question{About: true})
		if err != nil || string(about) != "what it trains" {
			t.Errorf("%q, %v", about, err)
		}
		text, err := Ask(ctx, net, addrs, Question{Status: true})
		var status Status
		if err != nil || json.Unmarshal(text, &status) != nil || status.Worker != "w1" || status.Step < 9 || len(status.Members) != 3 {
			t.Errorf("%s, %v", text, err)
		}
		if _, err := Ask(ctx, net, addrs, Question{Drain: "w7"}); err == nil || !strings.Contains(err.Error(), "w7") {
			t.Errorf("%v", err)
		}
		for _, name := range []string{"w2", "w0", "w1"} {
			if _, err := Ask(ctx, net, addrs, Question{Drain: name}); err != nil {
				t.Error(err)
			}
		}
	})
	for _, h := range hands {
		if h.err != nil || h.model.step > 100 {
			t.Errorf("step %d, %v", h.model.step, h.err)
		}
	}
	if _, err := Ask(ctx, net, addrs[:1], Question{About: true}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("%v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	for range 10 { // what comes first, the refusal or the end of the time, is chance
		if _, err := Ask(over, net, addrs[:1], Question{About: true}); err == nil || !strings.HasPrefix(err.Error(), "no member could be asked") {
			t.Errorf("%v", err)
		}
	}
}

// TestRefusal: workers that do not fit are told why.
func TestRefusal(t *testing.T) {
	seconds(t)
	c := newCrew(t, 2)
	ctx := c.deadline()
	done := make(chan struct{})
	var hands []*hand
	var all sync.WaitGroup
	for _, m := range c.founders {
		h := c.start(m)
		hands = append(hands, h)
		all.Go(func() {
			h.err = h.model.train(ctx, h.Worker, 1<<40, func(s *Step, r Result) {
				select {
				case <-done:
					h.Leave()
				case <-time.After(time.Millisecond):
				}
			})
		})
	}
	c.config = func(config *Config) { config.Tensors = []Tensor{{"other", 0, 3000}} }
	h := c.start(Member{Name: "odd", Addr: c.addr("odd"), Host: "here"}, c.founders[0].Addr)
	var plan *PlanError
	if _, err := h.Begin(ctx); !errors.As(err, &plan) || !strings.Contains(err.Error(), "tensors") {
		t.Errorf("another plan: %v", err)
	}
	c.config = nil
	h = c.start(Member{Name: "w1", Addr: c.addr("double"), Host: "here"}, c.founders[0].Addr)
	short, cancel := context.WithCancel(ctx)
	all.Go(func() {
		if _, err := h.Begin(short); !errors.Is(err, context.Canceled) {
			t.Errorf("a name that is taken: %v", err)
		}
	})
	for !strings.Contains(h.Status().Waiting, "w1 already") {
		if ctx.Err() != nil {
			t.Fatalf("a name that is taken: %+v", h.Status())
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	close(done)
	all.Wait()
	for _, h := range hands {
		if h.err != nil {
			t.Error(h.err)
		}
	}
}

// TestNoAddress: what a worker that can ask nobody says names the fault, and nothing else.
func TestNoAddress(t *testing.T) {
	c := newCrew(t, 1)
	h := c.start(Member{Name: "lost", Addr: c.addr("lost"), Host: "here"}, "")
	if _, err := h.Begin(c.deadline()); err == nil || err.Error() != `worker "lost" has an empty address to join at` {
		t.Errorf("%v", err)
	}
}

// TestCalls runs named calls of all kinds beside the steps, in any order.
func TestCalls(t *testing.T) {
	c := newCrew(t, 3)
	hands := c.train(10, func(h *hand, i int, s *Step, r Result) {
		ctx := context.Background()
		var all sync.WaitGroup
		all.Go(func() {
			x := []int64{int64(i), 1}
			if err := AllReduce(ctx, h.Worker, "sum", x, collective.Sum); err != nil || x[0] != 3 || x[1] != 3 {
				t.Errorf("%v, %v", x, err)
			}
		})
		all.Go(func() {
			x := make([]float32, 100_000)
			x[99_999] = float32(-i)
			if err := AllReduce(ctx, h.Worker, "min", x, collective.Min); err != nil || x[99_999] != -2 {
				t.Errorf("%v, %v", x[99_999], err)
			}
		})
		all.Go(func() {
			x := []uint8{uint8(i)}
			if err := Broadcast(ctx, h.Worker, "cast", x, 1); err != nil || x[0] != 1 {
				t.Errorf("%v, %v", x, err)
			}
		})
		if err := h.Barrier(ctx, "wall"); err != nil {
			t.Error(err)
		}
		x := make([]float64, 3)
		if err := AllGather(ctx, h.Worker, "gather", x, []float64{float64(i)}); err != nil || x[2] != 2 {
			t.Errorf("%v, %v", x, err)
		}
		y := make([]int32, 1)
		if err := ReduceScatter(ctx, h.Worker, "scatter", y, []int32{1, 2, int32(i)}, collective.Sum); err != nil || y[0] != 3*[]int32{1, 2, 1}[i] {
			t.Errorf("%v, %v", y, err)
		}
		all.Wait()
	})
	c.check(hands...)
}

// TestCallEndsWithItsView: a call that not all have made ends when the members change.
func TestCallEndsWithItsView(t *testing.T) {
	c := newCrew(t, 3)
	var changed atomic.Int32
	started := make(chan struct{})
	hands := c.train(30, func(h *hand, i int, s *Step, r Result) {
		if r.Step == 10 && i == 0 {
			<-started
			h.Close() //nolint:errcheck // it dies
		}
		if r.Step == 10 && i == 1 {
			call, err := h.Call(context.Background(), collective.Request{Name: "nobody else", Kind: collective.Barrier})
			close(started)
			if err != nil {
				t.Error(err)
				return
			}
			var view *ViewChangedError
			if err := call.Wait(context.Background()); errors.As(err, &view) {
				changed.Add(1)
			} else {
				t.Error(err)
			}
		}
	})
	if changed.Load() != 1 {
		t.Error("the call did not end")
	}
	c.check(hands[1:]...)
}

// TestSharedCallEndsWithItsView: a member dies while a long call is under way in shared memory. The others have its result or
// hear of the change, and the next view has memory of its own.
func TestSharedCallEndsWithItsView(t *testing.T) {
	c := newCrew(t, 3)
	var started sync.WaitGroup
	started.Add(2)
	sum := func(h *hand, count int, began func()) (float32, error) {
		x := make([]float32, count)
		for k := range x {
			x[k] = 1
		}
		call, err := h.Call(context.Background(), collective.Request{Name: "sum", Kind: collective.AllReduce, Op: collective.Sum, Dst: collective.Of(x),
			Algorithm: collective.Shared})
		if err != nil {
			return 0, err
		}
		if a := call.Choice().Algorithm; a != collective.Shared {
			t.Errorf("%d elements are summed by %v", count, a)
		}
		began()
		err = call.Wait(context.Background())
		<-call.Released()
		return x[count-1], err
	}
	hands := c.train(30, func(h *hand, i int, s *Step, r Result) {
		switch {
		case r.Step < 10:
			if got, err := sum(h, 1<<17, func() {}); err != nil || got != 3 {
				t.Errorf("the sum is %g: %v", got, err)
			}
		case r.Step == 10 && i == 0:
			started.Wait()
			sum(h, 1<<22, func() { h.Close() }) //nolint:errcheck // it dies
		case r.Step == 10:
			got, err := sum(h, 1<<22, started.Done)
			var view *ViewChangedError
			if err == nil && got != 3 || err != nil && !errors.As(err, &view) {
				t.Errorf("the sum is %g: %v", got, err)
			}
			for h.View().Epoch == 1 {
				time.Sleep(time.Millisecond)
			}
		default:
			if got, err := sum(h, 1<<17, func() {}); err != nil || got != 2 {
				t.Errorf("after the change the sum is %g: %v", got, err)
			}
		}
	})
	c.check(hands[1:]...)
}

// TestViewChanges lets a worker in and out again a thousand times: nothing is left behind.
func TestViewChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	rounds := 60
	if everything() {
		rounds = 500
	}
	c := newCrew(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, m := range c.founders {
		h := c.start(m)
		all.Go(func() {
			if err := h.model.train(ctx, h.Worker, 1<<40, nil); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	c.passing = true
	var early, late footprint
	for i := range rounds {
		h := c.start(Member{Name: "guest", Addr: c.addr("guest"), Host: "here"}, c.founders[i%2].Addr)
		h.err = h.model.train(c.deadline(), h.Worker, 1<<40, func(s *Step, r Result) {
			if s.Weight > 0 {
				h.Leave()
			}
		})
		if h.err != nil {
			t.Fatal(h.err)
		}
		h.stop()
		if i == 10 {
			time.Sleep(2 * lingering)
			early = footprintOf(t)
		}
	}
	// What is about to be closed is not counted, and which files of shared memory are kept depends on the moment;
	// what grew would grow with the rounds.
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(lingering) {
		late = footprintOf(t)
		grown := late.goroutines > early.goroutines+4 || late.files > early.files+8 || late.memory > early.memory+4<<20
		if !grown {
			break
		}
		if time.Now().After(end) {
			t.Errorf("after %d rounds there are more than after 11", rounds)
			break
		}
	}
	cancel()
	all.Wait()
	t.Logf("after 11 and %d rounds: %+v, %+v", rounds, early, late)
}

// footprint is what a process holds.
type footprint struct {
	goroutines, files int
	memory            uint64 // bytes of the heap
}

func footprintOf(t *testing.T) footprint {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return footprint{runtime.NumGoroutine(), openFiles(t), stats.HeapAlloc}
}

func openFiles(t *testing.T) int {
	names, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// seconds marks a test that mostly waits.
func seconds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
}
