package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// proc is a worker as its parent sees it.
type proc struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	done  chan struct{}
	phase *phase

	mu    sync.Mutex
	lines []line
	ended bool
	news  chan struct{} // closed at the next line
}

// patience is how long anything may take before the bench gives up.
const patience = time.Minute

func startProc(s spec) (*proc, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &proc{name: s.Self.Name, cmd: exec.Command(self, "worker"), done: make(chan struct{}), news: make(chan struct{})}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.phase, err = openPhase(fmt.Sprintf("%s/%s.phase", s.Dir, p.name)); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, p.say(s)
}

// say gives the worker its spec or an order.
func (p *proc) say(what any) error { return json.NewEncoder(p.in).Encode(what) }

// ask gives the worker an order and waits for its answer.
func (p *proc) ask(o order, answer string) (line, error) {
	if err := p.say(o); err != nil {
		return line{}, err
	}
	return p.await(patience, "its answer", func(l line) bool { return l.Event == answer })
}

func (p *proc) read(out io.Reader) {
	defer close(p.done)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		p.mu.Lock()
		p.lines = append(p.lines, l)
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
	p.cmd.Wait() //nolint:errcheck // the lines tell
	p.mu.Lock()
	p.ended = true
	close(p.news)
	p.news = make(chan struct{})
	p.mu.Unlock()
}

// find is the first line that is wanted.
func (p *proc) find(wanted func(line) bool) (line, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.lines, wanted); i >= 0 {
		return p.lines[i], true
	}
	return line{}, false
}

// await waits for a line.
func (p *proc) await(patience time.Duration, what string, wanted func(line) bool) (line, error) {
	limit := time.After(patience)
	for from := 0; ; {
		p.mu.Lock()
		for ; from < len(p.lines); from++ {
			if wanted(p.lines[from]) {
				defer p.mu.Unlock()
				return p.lines[from], nil
			}
		}
		ended, news := p.ended, p.news
		var last line
		if from > 0 {
			last = p.lines[from-1]
		}
		p.mu.Unlock()
		if ended {
			return line{}, fmt.Errorf("%s has ended while %s was awaited: %+v", p.name, what, last)
		}
		select {
		case <-news:
		case <-limit:
			return line{}, fmt.Errorf("%s: no %s for %v; its last line is %+v", p.name, what, patience, last)
		}
	}
}

// timedStep is a step and the milliseconds since the one before.
type timedStep struct {
	line
	took float64
}

// steps are those that followed another.
func (p *proc) steps() (all []timedStep) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var before line
	for _, l := range p.lines {
		if l.Event != "" {
			continue
		}
		if before.Step+1 == l.Step && before.Step > 0 {
			all = append(all, timedStep{l, float64(l.At-before.At) / 1e6})
		}
		before = l
	}
	return all
}

// kill ends the process at once, and says when that was and what it was doing.
func (p *proc) kill() (at int64, doing string, err error) {
	at = now()
	if err := p.cmd.Process.Kill(); err != nil {
		return 0, "", err
	}
	return at, p.phase.String(), nil
}

// stop stops the process, which ends with the run.
func (p *proc) stop() (at int64, doing string, err error) {
	at = now()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return 0, "", err
	}
	return at, p.phase.String(), nil
}

// reap waits for the end of a killed process.
func (p *proc) reap() {
	p.cmd.Process.Kill() //nolint:errcheck // it has ended
	<-p.done
	p.in.Close()
	p.phase.close()
}
