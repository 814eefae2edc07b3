package crew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// shown is how far the parent has shown what its workers say alike.
type shown struct {
	step, epoch, skip int
	view              uint64
	members           []string      // of the view
	stalled           string        // why the group cannot go on, empty while it does
	at                time.Time     // of the step
	perStep           time.Duration // at last
}

// loop handles what happens until all workers have ended.
func (l *Launcher) loop(ctx context.Context) {
	tick := time.NewTicker(time.Second) // what is due is so in seconds, and each waking disturbs a worker on its core
	defer tick.Stop()
	done := ctx.Done()
	for len(l.children) > 0 {
		select {
		case e := <-l.events:
			l.handle(e)
		case do := <-l.requests:
			do()
		case now := <-tick.C:
			l.tick(now)
		case <-done:
			done = nil
			l.interrupted = true
			for _, c := range l.children {
				c.leave(l.leaveBy())
			}
		}
	}
}

// leaveBy is when one that is asked to leave now should have done so.
func (l *Launcher) leaveBy() time.Time { return time.Now().Add(leaveWait + 3*l.shown.perStep) }

// tick does what is due.
func (l *Launcher) tick(now time.Time) {
	l.endWhenTrained()
	for _, c := range l.children {
		switch {
		case l.closing && now.After(l.closeBy) || c.leaving && now.After(c.leaveBy.Add(lastWait)):
			c.kill()
		case c.leaving && !c.dismissed && now.After(c.leaveBy):
			l.Observer.Remark("worker %s cannot leave the group in good order: it saves and ends", c.name)
			c.dismiss()
		}
	}
	if l.ending() || l.shown.stalled != "" { // a group that cannot go on lets nobody in
		return
	}
	for range l.target.missing(now, l.staying()) {
		if err := l.startWorker(false); err != nil {
			l.Observer.Remark("%v", err)
			l.target.lose(now)
		}
	}
}

// handle takes what happens to a child.
func (l *Launcher) handle(e event) {
	c := e.child
	switch w := e.word; {
	case e.ended:
		l.ended(c)
	case w.Window != nil || w.Epoch != nil || w.Change != nil || w.Skip != nil || w.Stalled != "":
		l.show(w)
	case w.Trouble != "":
		l.Observer.WriteFailed(errors.New(w.Trouble))
	case w.Trained:
		c.trained = true
		l.finish()
		l.endWhenTrained()
	case w.Result != nil:
		l.result, l.resultAt = w.Result, time.Now()
		l.endWhenTrained()
	case w.Failed != nil:
		c.failed = w.Failed
	case w.Left != "":
		c.left = w.Left
	}
}

// show tells the observer what no worker has told before.
func (l *Launcher) show(w word) {
	was := &l.shown
	if p := w.Window; p != nil && p.Step > was.step {
		if steps := p.Step - was.step; was.step > 0 {
			was.perStep = min(time.Since(was.at)/time.Duration(steps), time.Hour)
		}
		was.step, was.at, was.stalled = p.Step, time.Now(), ""
		l.Observer.Window(*p)
	}
	if e := w.Epoch; e != nil && e.Number > was.epoch {
		was.epoch = e.Number
		l.Observer.Epoch(e.epoch())
	}
	if s := w.Skip; s != nil && s.Step > was.skip {
		was.skip = s.Step
		l.Observer.Skipped(s.Step, s.Culprit)
	}
	if w.Stalled != "" && w.Stalled != was.stalled {
		was.stalled = w.Stalled
		l.Observer.Stalled(w.Stalled)
	}
	if c := w.Change; c != nil && c.View > was.view {
		was.view, was.members = c.View, c.Members
		if c.View > 1 {
			l.Observer.Changed(*c)
		}
	}
}

// finish makes one of those that have trained to the end write the results.
func (l *Launcher) finish() {
	if l.finisher != nil || l.closing {
		return
	}
	for _, c := range l.children {
		if c.trained && c.failed == nil && !c.leaving {
			l.finisher = c
			c.order(order{Finish: true})
			return
		}
	}
}

// endWhenTrained lets the workers end once the results are written and all have taken the last step:
// to those that have not, one that ends is a loss. A newcomer that was on its way takes none.
func (l *Launcher) endWhenTrained() {
	if l.result == nil {
		return
	}
	if time.Since(l.resultAt) < lateWait && slices.ContainsFunc(l.children, func(c *child) bool { return !c.trained }) {
		return
	}
	l.end()
}

// end lets the workers end.
func (l *Launcher) end() {
	if l.closing {
		return
	}
	l.closing, l.closeBy = true, time.Now().Add(lastWait)
	for _, c := range l.children {
		c.dismiss()
	}
}

// fail ends the run with an error.
func (l *Launcher) fail(err error) {
	if l.err == nil {
		l.err = err
	}
	l.end()
}

// drop forgets a child.
func (l *Launcher) drop(c *child) {
	l.children = slices.DeleteFunc(l.children, func(x *child) bool { return x == c })
}

// ended handles the end of a child: of one that leaves, of a run that ends, or a loss.
func (l *Launcher) ended(c *child) {
	l.drop(c)
	c.dismiss()
	l.note()
	l.endWhenTrained()
	if l.closing || l.interrupted && c.failed == nil {
		return
	}
	switch {
	case c == l.finisher && c.failed != nil:
		l.fail(&Failure{c.name, *c.failed})
	case c.trained:
		l.lateLoss(c)
	case c.left != "":
		if !c.leaving {
			l.target.fewer(1)
			l.Observer.Remark("worker %s has left: %s", c.name, c.left)
		}
	case c.leaving:
		l.tellDown(c)
	default:
		l.tellDown(c)
		l.lose(c)
	}
}

// tellDown tells the others that a child has ended, before they notice it themselves.
func (l *Launcher) tellDown(c *child) {
	for _, x := range l.children {
		x.order(order{Down: c.name})
	}
}

// lateLoss handles the loss of a worker that has trained to the end.
func (l *Launcher) lateLoss(c *child) {
	if c != l.finisher {
		return
	}
	l.finisher = nil
	l.finish()
	if l.finisher == nil && len(l.children) == 0 {
		l.fail(fmt.Errorf("the training has ended, but worker %s %s before the results were written", c.name, c.end()))
	}
}

// lose notes a lost worker and when to replace it. What fails one worker's training fails that of
// all: then none is left.
func (l *Launcher) lose(c *child) {
	if len(l.children) == 0 && c.failed != nil {
		l.fail(&Failure{c.name, *c.failed})
		return
	}
	if len(l.children) == 0 {
		l.fail(fmt.Errorf("all workers are lost: worker %s %s", c.name, c.end()))
		return
	}
	if text := c.errors.text(); len(text) > 0 {
		_ = os.WriteFile(filepath.Join(l.session.worker(c.name), stderrFile), text, 0o644) // for those who look for the reason
	}
	wait := l.target.lose(time.Now()).Round(time.Second)
	l.Observer.Remark("worker %s %s; another takes its place in %v", c.name, c.end(), wait)
}

// staying counts the children that were not asked to leave.
func (l *Launcher) staying() int {
	n := 0
	for _, c := range l.children {
		if !c.leaving {
			n++
		}
	}
	return n
}

// resize changes how many workers the launcher holds.
func (l *Launcher) resize(n int) error {
	if n < 1 || n > MaxWorkers {
		return fmt.Errorf("a machine has 1 to %d workers of a run, not %d", MaxWorkers, n)
	}
	if l.ending() || l.staying() == 0 { // nobody would be there to be joined
		return errEnding
	}
	l.target.resize(n, time.Now())
	for l.staying() > n {
		l.dispensable().leave(l.leaveBy())
	}
	l.tick(time.Now())
	return nil
}

// dispensable is the youngest child that is to stay, of those that the group has not let in, if there are such: the
// last member must not leave while others only wait to be let in.
func (l *Launcher) dispensable() (youngest *child) {
	for _, c := range slices.Backward(l.children) {
		switch {
		case c.leaving:
		case !slices.Contains(l.shown.members, c.name):
			return c
		case youngest == nil:
			youngest = c
		}
	}
	return youngest
}

var errEnding = errors.New("the run is ending")

func (l *Launcher) ending() bool { return l.closing || l.interrupted || l.finisher != nil }

// drain makes one worker leave for good, or all of them. It says why the group cannot go on, if that is so: then they
// do not leave in good order.
func (l *Launcher) drain(name string) (stalled string, err error) {
	if l.ending() {
		return "", errEnding
	}
	found := false
	for _, c := range l.children {
		if name == "" || c.name == name {
			found = true
			if !c.leaving {
				c.leave(l.leaveBy())
				l.target.fewer(1)
			}
		}
	}
	if !found {
		return "", fmt.Errorf("no worker %s is on this machine", name)
	}
	return l.shown.stalled, nil
}
