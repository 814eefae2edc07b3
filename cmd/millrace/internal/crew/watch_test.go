package crew

import (
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
