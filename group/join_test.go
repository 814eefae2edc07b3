package group

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTwoOfOneName: of two workers that want in under one name at the same time one is let in and stays; the other
// is told that the name is taken, and is let in when it is free.
func TestTwoOfOneName(t *testing.T) {
	c := newCrew(t, 2)
	ctx := c.deadline()
	paused, goOn, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	var founders []*hand
	for _, m := range c.founders {
		h := c.start(m)
		founders = append(founders, h)
		all.Go(func() {
			h.err = h.model.train(ctx, h.Worker, 1<<40, func(s *Step, r Result) {
				if r.Step == 5 {
					paused <- struct{}{}
					<-goOn
				}
				select {
				case <-done:
					h.Leave()
				default:
					time.Sleep(time.Millisecond)
				}
			})
		})
	}
	<-paused
	<-paused
	var guests [2]*hand
	var in [2]chan struct{}
	for i, addr := range []string{"one", "two"} {
		h := c.start(Member{Name: "guest", Addr: c.addr(addr), Host: "here"}, founders[i].config.Self.Addr)
		guests[i], in[i] = h, make(chan struct{})
		all.Go(func() {
			told := false
			h.err = h.model.train(ctx, h.Worker, 1<<40, func(s *Step, r Result) {
				if s.Weight > 0 && !told {
					told = true
					close(in[i])
				}
			})
		})
	}
	says := func(h *hand, words string) {
		t.Helper()
		for !strings.Contains(h.Status().Waiting, words) {
			if ctx.Err() != nil {
				t.Fatalf("%+v", h.Status())
			}
			time.Sleep(time.Millisecond)
		}
	}
	for _, h := range guests { // both wishes are with members when the next step is committed
		says(h, "the next step's commit")
	}
	close(goOn)
	first, second := 0, 1
	select {
	case <-in[0]:
	case <-in[1]:
		first, second = 1, 0
	case <-ctx.Done():
		t.Fatalf("nobody is let in: %+v, %+v", guests[0].Status(), guests[1].Status())
	}
	says(guests[second], "there is a member called guest already")
	view := guests[first].View()
	if view.Epoch != 2 || len(view.Members) != 3 {
		t.Errorf("the first is in %+v", view)
	}
	guests[first].Leave()
	select {
	case <-in[second]:
	case <-ctx.Done():
		t.Fatalf("the second is not let in: %+v", guests[second].Status())
	}
	guests[second].Leave()
	close(done)
	all.Wait()
	for _, h := range append(founders, guests[:]...) {
		if h.err != nil && !errors.Is(h.err, ErrLeft) {
			t.Error(h.err)
		}
	}
}
