package crew

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a worker process as its parent sees it.
type child struct {
	name string
	addr string
	slot int // of its port
	cmd  *exec.Cmd

	in     io.WriteCloser
	orders *json.Encoder
	errors *tail

	leaving   bool      // was asked to
	leaveBy   time.Time // when it is to end at once, if it has not left
	dismissed bool      // its input has ended
	left      string    // why it says that it left
	trained   bool
	failed    *failure
}

// event is what happens to a child: a word, or its end.
type event struct {
	child *child
	word  word
	ended bool
}

// start starts a worker process. Its words and its end go to events; the goroutine that sends them
// belongs to running.
func start(program string, spec Spec, events chan<- event, running *sync.WaitGroup) (*child, error) {
	c := &child{name: spec.Name, addr: spec.Addr, errors: &tail{}}
	c.cmd = exec.Command(program, "worker")
	c.cmd.Stderr = c.errors
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's interrupt is the parent's to pass on
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("worker %s cannot be started: %w", spec.Name, err)
	}
	c.in, c.orders = in, json.NewEncoder(in)
	_ = c.orders.Encode(spec) // a child that reads nothing has ended
	running.Go(func() {
		err := lines(out, func(w word) { events <- event{child: c, word: w} })
		if err != nil { // it does not speak as a worker does
			_ = c.cmd.Process.Kill()
			_, _ = io.Copy(io.Discard, out)
		}
		_ = c.cmd.Wait() // what it says itself tells more than its exit code
		events <- event{child: c, ended: true}
	})
	return c, nil
}

// leave asks the child to leave its group after the step under way, which must not take longer than
// until a time.
func (c *child) leave(by time.Time) {
	if c.leaving {
		return // a second signal would end it at once
	}
	c.leaving, c.leaveBy = true, by
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
}

// order gives an order; a child that has ended gets none.
func (c *child) order(o order) { _ = c.orders.Encode(o) }

// dismiss ends the child's input, which it takes for the end of its parent: one that is leaving saves and
// ends at once.
func (c *child) dismiss() {
	c.dismissed = true
	_ = c.in.Close()
}

// kill ends the child.
func (c *child) kill() { _ = c.cmd.Process.Kill() } // it may have ended

// end says in words how a child that has ended did so.
func (c *child) end() string {
	state := c.cmd.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was ended by signal %d (%v)", int(status.Signal()), status.Signal())
	}
	if text := c.errors.last(); text != "" && !state.Success() {
		return fmt.Sprintf("ended with exit code %d: %s", state.ExitCode(), text)
	}
	return fmt.Sprintf("ended with exit code %d", state.ExitCode())
}

// tail keeps the beginning and the end of what was written to it.
type tail struct {
	mu        sync.Mutex
	head, end []byte
}

const maxTail = 8 << 10 // of each

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(p), maxTail-len(t.head))
	t.head = append(t.head, p[:n]...)
	t.end = append(t.end, p[n:]...)
	if over := len(t.end) - maxTail; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

// text is what is kept.
func (t *tail) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(t.head[:len(t.head):len(t.head)], t.end...)
}

// last is the last line, or the first line of a crash.
func (t *tail) last() string {
	all := strings.Split(strings.TrimSpace(string(t.text())), "\n")
	for _, line := range all {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return all[len(all)-1]
}
