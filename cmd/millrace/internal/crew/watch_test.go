package crew

import (
	"slices"
	"testing"
	"time"

	"millrace.dev/learn/train"
)

// TestNoReplacementWhileStalled: a group that cannot go on lets nobody in, so nobody is started until it does.
func TestNoReplacementWhileStalled(t *testing.T) {
	l := newLauncher(newRun(t), "w0")
	now := time.Now()
	l.target.resize(2, now)
	c := l.children[0]
	l.handle(event{child: c, word: word{Stalled: "too few"}})
	l.tick(now.Add(time.Minute))
	if s, _ := l.status(Status{}); l.next != 0 || s.Missing != "1, to be started once the others can go on" {
		t.Errorf("%d were started; missing %q", l.next, s.Missing)
	}
	l.handle(event{child: c, word: word{Window: &train.Progress{Step: 3}}})
	l.tick(now.Add(time.Minute))
	if l.next != 1 {
		t.Errorf("%d were started", l.next)
	}
}

// TestResizeKeepsMembers: those that only wait to be let in leave first, then the youngest.
func TestResizeKeepsMembers(t *testing.T) {
	l := newLauncher(newRun(t), "w0", "w1", "w2", "w3")
	l.handle(event{child: l.children[2], word: word{Change: &Change{View: 7, Members: []string{"w1", "w2"}}}})
	for n, want := range map[int][]string{3: {"w0", "w1", "w2"}, 2: {"w1", "w2"}, 1: {"w1"}} {
		for _, c := range l.children {
			c.leaving = false
		}
		if err := l.resize(n); err != nil {
			t.Fatal(err)
		}
		var stay []string
		for _, c := range l.children {
			if !c.leaving {
				stay = append(stay, c.name)
			}
		}
		if !slices.Equal(stay, want) {
			t.Errorf("of %d workers %v stay, want %v", n, stay, want)
		}
	}
}

// TestNoResizeOfWorkersThatAllLeave: newcomers would find nobody.
func TestNoResizeOfWorkersThatAllLeave(t *testing.T) {
	l := newLauncher(newRun(t), "w0", "w1")
	if _, err := l.drain(""); err != nil {
		t.Fatal(err)
	}
	if err := l.resize(2); err != errEnding || l.next != 0 {
		t.Errorf("%v; %d were started", err, l.next)
	}
}
