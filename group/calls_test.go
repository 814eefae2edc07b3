package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"millrace.dev/group/collective"
)

// callers make named calls without end, several at a time. Each member gives a bit of its own, so that results tell who took part.
type callers struct {
	w   *Worker
	bit int64

	mu   sync.Mutex
	mask int64 // of those who took part in the last call
	made int   // calls in which the same did
	err  error // what must not be
}

// call begins; what it returns ends the calls and waits for that.
func (c *callers) call() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i, elements := range []int{100_000, 250_000, 30_000, 3} {
		name, x := fmt.Sprint("call ", i), make([]int64, elements)
		all.Go(func() {
			for ctx.Err() == nil {
				for at := range x {
					x[at] = c.bit
				}
				c.count(x, AllReduce(ctx, c.w, name, x, collective.Sum))
			}
		})
		all.Go(func() {
			y := make([]int64, elements)
			for ctx.Err() == nil {
				short, stop := context.WithTimeout(ctx, time.Duration(i)*time.Millisecond+10*time.Microsecond)
				// Whoever is late gives it up for all.
				c.check(AllReduce(short, c.w, "given up "+name, y, collective.Max))
				stop()
				time.Sleep(time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// check notes an error that no change of the members and no caller explains.
func (c *callers) check(err error) bool {
	var changed *ViewChangedError
	switch {
	case err == nil:
		return true
	case errors.As(err, &changed), errors.Is(err, collective.ErrCancelled), errors.Is(err, collective.ErrGone),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrClosed), errors.Is(err, ErrLeft):
		time.Sleep(time.Millisecond)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	return false
}

// count notes the end of a call.
func (c *callers) count(x []int64, err error) {
	if !c.check(err) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(x, func(v int64) bool { return v != x[0] }); i >= 0 {
		c.err = fmt.Errorf("element %d of %d is %b, the first one is %b", i, len(x), x[i], x[0])
	}
	if x[0]&c.bit == 0 {
		c.err = fmt.Errorf("a sum of %b is without %b", x[0], c.bit)
	}
	if x[0] != c.mask {
		c.mask, c.made = x[0], 0
	}
	c.made++
}

// state says who took part in the last calls, and in how many.
func (c *callers) state() (mask int64, made int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mask, c.made, c.err
}

// TestCallsOfProcesses: calls side by side go on when a process stands still for a while, end when one is killed, and are
// right among those that are left.
func TestCallsOfProcesses(t *testing.T) {
	seconds(t)
	f := newFleet(t, 5, toySpec{Elements: 4000, Samples: 1000, Batch: 20, Hash: 3, Rest: 2 * time.Millisecond, Suspect: patience, Calls: true})
	var left []*proc
	for i := range 5 {
		left = append(left, f.start(i, ""))
	}
	called := func(mask int64) {
		t.Helper()
		for _, p := range left {
			before := p.at()
			p.until(t, fmt.Sprintf("calls of %b", mask), func(l toyLine) bool {
				return l.Mask == mask && (before.Mask == mask && l.Calls > before.Calls+20 || before.Mask != mask && l.Calls > 20)
			})
		}
	}
	called(0b11111)
	stop(t, left[2])
	time.Sleep(time.Second)
	left[2].cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // what follows tells
	called(0b11111)
	mask := int64(0b11111)
	for _, victim := range []int{3, 0} {
		left[victim].cmd.Process.Kill() //nolint:errcheck // it is waited for
		<-left[victim].done
		mask &^= 1 << slices.Index(f.procs, left[victim])
		left = slices.Delete(left, victim, victim+1)
		called(mask)
	}
	f.end(left...)
}

// TestCallsShareMemory where the members' steps do.
func TestCallsShareMemory(t *testing.T) {
	c := newCrew(t, 3)
	hands := c.train(3, func(h *hand, i int, s *Step, r Result) {
		if h.Status().Algorithm != "shared" {
			return
		}
		x := []int32{int32(i)}
		err := h.run(context.Background(), collective.Request{
			Name: "sum", Kind: collective.AllReduce, Op: collective.Sum, Dst: collective.Of(x), Algorithm: collective.Shared,
		})
		if err != nil || x[0] != 3 {
			t.Errorf("w%d: %d, %v", i, x[0], err)
		}
	})
	c.check(hands...)
}

// TestCallsAcrossViews: calls side by side end with each of many views, and are right in the next one.
func TestCallsAcrossViews(t *testing.T) {
	views := uint64(40)
	if testing.Short() {
		views = 8
	}
	c := newCrew(t, 3)
	ctx := c.deadline()
	hands := c.found()
	var all sync.WaitGroup
	for i, h := range hands {
		calls := &callers{w: h.Worker, bit: 1 << i}
		end := calls.call()
		all.Go(func() {
			h.err = h.model.train(ctx, h.Worker, 1<<40, func(s *Step, r Result) {
				mask, made, err := calls.state()
				switch time.Sleep(time.Millisecond); {
				case i == 0 && len(r.View.Members) == 3 && r.Step%8 == 0 && r.View.Epoch < views:
					h.PeerDown([]string{"w1", "w2"}[r.Step/8%2]) // which comes back
				case err != nil, i == 0 && len(r.View.Members) == 3 && mask == 0b111 && made > 50 && r.View.Epoch >= views:
					for _, h := range hands {
						h.Leave()
					}
				}
			})
			end()
			if _, _, err := calls.state(); err != nil {
				t.Errorf("w%d: %v", i, err)
			}
		})
	}
	all.Wait()
	for _, h := range hands {
		if h.err != nil {
			t.Errorf("%v; %+v", h.err, h.Status())
		}
	}
}
