package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// How often a progress line is renewed on a terminal, and how often one is
// added where there is none.
const (
	terminalInterval = 100 * time.Millisecond
	logInterval      = 10 * time.Second
)

// progress reports how far a verb has come: one line that is rewritten on a
// terminal, and the same line once per interval where there is none. Its
// methods may be called from any goroutine.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	width   int // terminal columns, 0 for a log
	now     func() time.Time
	what    string
	unit    string
	total   int64
	start   time.Time
	first   int64
	begun   bool
	printed time.Time
}

// progress starts a report of what is done, counted in unit; a total of zero
// or less is unknown.
func (c *console) progress(what, unit string, total int64) *progress {
	p := &progress{w: c.err, width: c.width, now: time.Now, what: what, unit: unit, total: total}
	p.start = p.now()
	p.printed = p.start
	return p
}

// set reports that done units are finished; note is a short remark, such as
// the loss. The first count is where the work began (a resumed run does not
// begin at zero): rates are taken from there.
func (p *progress) set(done int64, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if !p.begun {
		p.begun, p.first, p.start = true, done, now
	}
	interval := logInterval
	if p.width > 0 {
		interval = terminalInterval
	}
	if now.Sub(p.printed) < interval {
		return
	}
	p.printed = now
	p.print(p.line(done, note, now), false)
}

// finish prints the last line and ends it.
func (p *progress) finish(done int64, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(p.line(done, note, p.now()), true)
}

// line tells what matters most first: a narrow terminal cuts off its end.
func (p *progress) line(done int64, note string, now time.Time) string {
	var b strings.Builder
	b.WriteString(p.what)
	rate, known := p.rate(done, now)
	if p.total > 0 {
		fmt.Fprintf(&b, " %3d %%", 100*done/p.total)
		if left := p.total - done; known && left > 0 {
			wait := time.Duration(float64(left) / rate * float64(time.Second))
			fmt.Fprintf(&b, "  %s left", wait.Round(time.Second))
		}
	}
	if note != "" {
		b.WriteString("  " + note)
	}
	fmt.Fprintf(&b, "  %s", count(done))
	if p.total > 0 {
		fmt.Fprintf(&b, "/%s", count(p.total))
	}
	fmt.Fprintf(&b, " %s", p.unit)
	if known {
		fmt.Fprintf(&b, "  %s/s", count(int64(rate+0.5)))
	}
	return b.String()
}

func (p *progress) rate(done int64, now time.Time) (float64, bool) {
	seconds := now.Sub(p.start).Seconds()
	if !p.begun || done <= p.first || seconds <= 0 {
		return 0, false
	}
	return float64(done-p.first) / seconds, true
}

func (p *progress) print(line string, last bool) {
	if p.width == 0 {
		fmt.Fprintln(p.w, line)
		return
	}
	if runes := []rune(line); len(runes) >= p.width {
		line = string(runes[:p.width-1])
	}
	end := ""
	if last {
		end = "\n"
	}
	fmt.Fprintf(p.w, "\r%s\x1b[K%s", line, end)
}
