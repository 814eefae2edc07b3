package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command says how to start a peer.
type Command struct {
	Name string   // file name of its log
	CPUs string   // list of CPUs as taskset takes it; empty for all
	Env  []string // in addition to the environment without library settings
	Args []string
}

// Info is what a peer says about itself.
type Info struct {
	Name     string  `json:"name"`
	Version  string  `json:"version"`
	Settings string  `json:"settings"`
	Flops    float64 `json:"flops"` // floating-point operations in one step of row "fma"
}

// Loaded is the answer to "load".
type Loaded struct {
	Params float64 `json:"params"` // numbers that a step trains; 0 where there are none
}

// Burst is one answer to "run": so many steps in so many seconds.
type Burst struct {
	Wall    float64 `json:"wall"`
	CPU     float64 `json:"cpu"`
	Steps   int     `json:"steps"`
	Loss    float64 `json:"loss"`
	Mallocs uint64  `json:"mallocs"` // heap allocations, where the peer can tell
	GC      uint32  `json:"gc"`      // garbage collections
}

// Peer is a running peer process. It stands still but for the time between a request and its answer:
// the threads of some libraries spin for as long as a tenth of a second after their work, and would
// take a CPU from whose turn is next. It must be closed.
type Peer struct {
	Info   Info
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	log    *os.File
	cancel context.CancelFunc
}

// librarySettings are variables that would change a peer behind the bench's back.
var librarySettings = []string{
	"OPENBLAS_", "OMP_", "MKL_", "KMP_", "GOMP_", "DNNL_", "ONEDNN_", "XLA_FLAGS", "JAX_", "TORCH", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG",
}

// Start starts a peer whose stderr goes to logs/NAME.log. It ends with the context.
func Start(ctx context.Context, c Command, logs string) (*Peer, error) {
	p, err := start(ctx, c, logs)
	if err != nil {
		return nil, err
	}
	if err := p.ask(&p.Info, "info"); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func start(ctx context.Context, c Command, logs string) (*Peer, error) {
	log, err := os.Create(filepath.Join(logs, c.Name+".log"))
	if err != nil {
		return nil, err
	}
	args := c.Args
	if c.CPUs != "" {
		args = append([]string{"taskset", "-c", c.CPUs}, args...)
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(cleanEnv(os.Environ()), c.Env...)
	cmd.Stderr = log
	// A process group of its own is signalled as a whole. If this process dies, the kernel wakes and
	// ends the group, which no shell knows.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		log.Close()
		return nil, fmt.Errorf("peer %s: %w", c.Name, err)
	}
	return &Peer{cmd: cmd, in: in, out: bufio.NewReader(out), log: log, cancel: cancel}, nil
}

func cleanEnv(env []string) []string {
	var clean []string
next:
	for _, v := range env {
		for _, prefix := range librarySettings {
			if strings.HasPrefix(v, prefix) {
				continue next
			}
		}
		clean = append(clean, v)
	}
	return clean
}

// signal sends a signal to the peer and its children. One that is dead shows itself when it is asked.
func (p *Peer) signal(s syscall.Signal) {
	syscall.Kill(-p.cmd.Process.Pid, s) //nolint:errcheck // the next read tells
}

// ask lets the peer run until it has answered a request, and decodes the answer; one with an "error"
// is a *PeerError.
func (p *Peer) ask(answer any, words ...string) error {
	request := strings.Join(words, " ")
	p.signal(syscall.SIGCONT)
	defer p.signal(syscall.SIGSTOP)
	if _, err := fmt.Fprintln(p.in, request); err != nil {
		return fmt.Errorf("peer died before %q, see %s: %w", request, p.log.Name(), err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("peer died at %q, see %s: %w", request, p.log.Name(), err)
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(line, &failed); err != nil {
		return fmt.Errorf("peer answers %q to %q: %w", line, request, err)
	}
	if failed.Error != "" {
		return &PeerError{p.Info.Name, request, failed.Error}
	}
	return json.Unmarshal(line, answer)
}

// PeerError is a request that a peer could not fulfil.
type PeerError struct{ Peer, Request, Message string }

func (e *PeerError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Peer, e.Request, e.Message) }

// Load builds, compiles and warms up a row.
func (p *Peer) Load(row, variant string) (Loaded, error) {
	var l Loaded
	err := p.ask(&l, "load", row, variant)
	return l, err
}

// Drop frees a row.
func (p *Peer) Drop(row, variant string) error { return p.ask(&Burst{}, "drop", row, variant) }

// Run does steps of a loaded row.
func (p *Peer) Run(row, variant string, steps int) (Burst, error) {
	var b Burst
	err := p.ask(&b, "run", row, variant, fmt.Sprint(steps))
	if err == nil && (b.Steps != steps || b.Wall <= 0 || b.CPU < 0) {
		err = &PeerError{p.Info.Name, "run " + row, fmt.Sprintf("reports %d steps in %g s, asked for %d", b.Steps, b.Wall, steps)}
	}
	return b, err
}

// Close ends the process.
func (p *Peer) Close() {
	p.in.Close()
	p.signal(syscall.SIGCONT)
	ended := time.AfterFunc(5*time.Second, p.cancel)
	p.cmd.Wait() //nolint:errcheck // the peer has been asked to end; how it does is of no interest
	ended.Stop()
	p.cancel()
	p.log.Close()
}

// FirstStep is the wall time from starting a peer's process to the end of its first step of a row.
func FirstStep(ctx context.Context, c Command, logs, row, variant string) (time.Duration, error) {
	begin := time.Now()
	p, err := start(ctx, c, logs)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	err = p.ask(&Burst{}, "first", row, variant)
	return time.Since(begin), err
}
