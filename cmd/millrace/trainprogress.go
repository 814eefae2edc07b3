package main

import (
	"fmt"
	"time"

	"millrace.dev/learn/job"
	"millrace.dev/learn/train"
)

// trainProgress shows a run as it goes: one line that is renewed, and a line per epoch.
type trainProgress struct {
	c    *console
	bar  *progress
	done int64
	note string
}

var _ train.Observer = (*trainProgress)(nil)

func newTrainProgress(c *console, j *job.Job, at train.State) *trainProgress {
	p := &trainProgress{c: c, bar: c.progress("training", "samples", int64(j.SamplesInAll()))}
	p.bar.set(int64(at.Cursor.Epoch*j.Samples+at.Cursor.Position), "")
	return p
}

// Window implements train.Observer.
func (p *trainProgress) Window(w train.Progress) {
	p.done = int64((w.Epoch-1)*w.Total + w.Samples)
	p.note = fmt.Sprintf("loss %.4f  accuracy %.1f %%  epoch %s", w.Loss, 100*w.Accuracy, of(w.Epoch, w.Epochs))
	p.bar.set(p.done, p.note)
}

// Epoch implements train.Observer.
func (p *trainProgress) Epoch(e train.Epoch) {
	line := fmt.Sprintf("epoch %d  step %s  loss %.4f  accuracy %.2f %%", e.Number, count(int64(e.Step)), e.Train.Loss(), 100*e.Train.Accuracy())
	if e.Valid.Samples > 0 {
		line += fmt.Sprintf("  validation: loss %.4f  accuracy %.2f %%", e.Valid.Loss(), 100*e.Valid.Accuracy())
	}
	p.line("%s  (%v)", line, e.Duration.Round(100*time.Millisecond))
}

// WriteFailed implements train.Observer.
func (p *trainProgress) WriteFailed(err error) {
	p.line("millrace: training goes on, but %s", oneLine(err.Error()))
}

// line prints a line that stays, over the one that is renewed.
func (p *trainProgress) line(format string, args ...any) {
	clear := ""
	if p.c.width > 0 {
		clear = "\r\x1b[K"
	}
	fmt.Fprintf(p.c.err, clear+format+"\n", args...)
}

// finish ends the renewed line.
func (p *trainProgress) finish() {
	if p.done > 0 && p.c.width > 0 {
		p.bar.finish(p.done, p.note)
	}
}

func of(n, total int) string {
	if total == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d/%d", n, total)
}
