package group

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"millrace.dev/group/collective"
)

// TestCallsBetweenSteps: workers whose trainers sum a buffer after each step go on when one dies and another comes, and each sum is
// that of the members of its step, though they hear of a change at different times.
func TestCallsBetweenSteps(t *testing.T) {
	for _, elements := range []int{5, 30_000} {
		c := newCrew(t, 3)
		ctx, cancel := context.WithCancel(c.deadline())
		var all sync.WaitGroup
		var sums atomic.Int64 // of the one that comes late
		train := func(h *hand, dies bool, told func(Result)) {
			h.err = h.model.train(ctx, h.Worker, 1<<40, func(s *Step, r Result) {
				if dies && r.Step == 20 {
					h.Close() //nolint:errcheck // it dies
					return
				}
				x := make([]int32, elements)
				for i := range x {
					x[i] = 1
				}
				err := AllReduce(ctx, h.Worker, "sum", x, collective.Sum)
				var changed *ViewChangedError
				switch {
				case errors.As(err, &changed), ctx.Err() != nil:
				case err != nil:
					t.Errorf("after step %d: %v", r.Step, err)
				case int(x[elements-1]) != len(r.View.Members):
					t.Errorf("after step %d of %d members the sum is %d", r.Step, len(r.View.Members), x[elements-1])
				default:
					told(r)
				}
			})
		}
		hands := []*hand{}
		two := make(chan struct{}) // are left
		once := sync.OnceFunc(func() { close(two) })
		for i, m := range c.founders {
			h := c.start(m)
			hands = append(hands, h)
			all.Go(func() {
				train(h, i == 1, func(r Result) {
					if len(r.View.Members) == 2 {
						once()
					}
				})
			})
		}
		select {
		case <-two:
		case <-ctx.Done():
		}
		late := c.start(Member{Name: "late", Addr: c.addr("late"), Host: "here"}, c.founders[0].Addr)
		all.Go(func() {
			train(late, false, func(r Result) {
				if sums.Add(1) == 50 {
					cancel()
				}
			})
		})
		all.Wait()
		for _, h := range append(hands, late) {
			if !errors.Is(h.err, context.Canceled) && h != hands[1] {
				t.Errorf("%s: %v; %+v", h.config.Self.Name, h.err, h.Status())
			}
		}
		if sums.Load() < 50 {
			t.Errorf("who came late took part in %d sums", sums.Load())
		}
		c.check(hands...)
	}
}
