package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
	"millrace.dev/group/metrics"
	"millrace.dev/group/notice"
	"millrace.dev/group/steplog"
	"millrace.dev/internal/scratch"
)

// Variable is what tells a training program where its agent is: unix:PATH.
const Variable = "MILLRACE_AGENT"

// MaxWorkers bounds the workers of one host.
const MaxWorkers = 256

// Host is the agent of a machine: it serves some workers of a group and starts their programs.
type Host struct {
	Command []string // of each worker's program; none: whoever connects to Socket is the worker
	Socket  string   // path where the program connects; needed without Command, which has one worker
	Workers int
	Group   string     // name of the group that is founded
	Join    []string   // addresses of members of a group to join; none: found one
	Name    string     // of the workers, followed by their number if there are several
	Listen  string     // host:port where the first worker listens, the others at the ports after it; empty: this machine only
	Keys    keys.Place // needed beyond loopback
	Service string     // URL of the cluster whose register decides about views
	// Majority makes a majority of the members decide. Else, without Service, the host keeps the
	// register itself.
	Majority bool
	Notice   string // whence comes notice that the machine will be taken, as notice.From names it; empty: nowhere
	Metrics  string // host:port where Prometheus can ask for the workers' metrics; empty: nowhere
	Logs     string // directory of the workers' step logs; empty: none

	Stdout, Stderr io.Writer // of the programs
	Remark         func(format string, args ...any)
	Logger         *slog.Logger // nil: silent

	scratch *scratch.Dir // of sockets
	about   about
	cluster *cluster.Cluster
}

// about is what a newcomer must know before it joins.
type about struct {
	Group   string `json:"group"`
	Service string `json:"service,omitempty"`
}

// Summary is what became of a host's workers.
type Summary struct {
	Group   string `json:"group"`
	Workers int    `json:"workers"`
	Lost    int    `json:"lost"` // of them, whose programs failed
}

// hosted is one of the host's workers.
type hosted struct {
	member  group.Member
	network *fabric.Sockets
	log     *steplog.Writer
	session *Session
	mu      sync.Mutex
	leaving bool
	ended   bool // its program has
}

// Run serves the workers until their programs have ended. When ctx ends, or notice is given, they leave
// after the step under way. The error is that of a worker if all have failed.
func (h *Host) Run(ctx context.Context) (s Summary, err error) {
	if err := h.check(); err != nil {
		return s, err
	}
	// Socket paths are short, whatever the directories are called.
	if h.scratch, err = scratch.Make(); err != nil {
		return s, err
	}
	defer h.scratch.Leave() //nolint:errcheck // what stays the next agent removes
	if err := h.membership(ctx); err != nil {
		return s, err
	}
	if h.cluster != nil {
		defer h.cluster.Close()
	}
	var workers []*hosted
	defer func() {
		for _, w := range workers {
			w.close()
		}
	}()
	for i := range h.Workers {
		w, err := h.prepare(i)
		if err != nil {
			return s, err
		}
		workers = append(workers, w)
	}
	if h.Metrics == "" {
		return h.serve(ctx, workers)
	}
	m, err := metrics.Serve(h.Metrics, h.Keys, func(context.Context) []group.Status { return statuses(workers) })
	if err != nil {
		return s, err
	}
	defer m.Close()
	h.Remark("metrics are at %s", m.URL())
	return h.serve(ctx, workers)
}

// statuses are those of the workers whose programs have come.
func statuses(workers []*hosted) (list []group.Status) {
	for _, w := range workers {
		w.mu.Lock()
		s := w.session
		w.mu.Unlock()
		if s != nil {
			list = append(list, s.Status())
		}
	}
	return list
}

func (h *Host) check() error {
	switch {
	case h.Workers < 1 || h.Workers > MaxWorkers:
		return fmt.Errorf("an agent has 1 to %d workers, not %d", MaxWorkers, h.Workers)
	case len(h.Command) == 0 && h.Socket == "":
		return errors.New("an agent needs a program to start, or a socket where one connects")
	case len(h.Command) == 0 && h.Workers > 1:
		return errors.New("several workers need a program to start")
	}
	return nil
}

// membership finds out who decides about views.
func (h *Host) membership(ctx context.Context) (err error) {
	h.about = about{h.Group, h.Service}
	if len(h.Join) > 0 {
		return h.ask(ctx)
	}
	switch {
	case h.Majority:
		return nil
	case h.Service != "":
		h.cluster, err = cluster.Open(ctx, cluster.Config{URL: h.Service, TLS: h.tlsFiles()})
	default:
		h.cluster, err = cluster.Open(ctx, cluster.Config{Dir: filepath.Join(h.scratch.Path(), "membership"), Listen: "127.0.0.1:0"})
	}
	if err != nil {
		return fmt.Errorf("the membership service: %w", err)
	}
	if h.Service == "" {
		h.about.Service = h.cluster.URL()
	}
	return nil
}

// ask learns from a member what the group is.
func (h *Host) ask(ctx context.Context) error {
	network, err := h.network(h.name(0))
	if err != nil {
		return err
	}
	defer network.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := group.Ask(ctx, network, h.Join, group.Question{About: true})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &h.about); err != nil {
		return fmt.Errorf("what the members say of their group: %w", err)
	}
	if h.about.Service == "" {
		return nil
	}
	h.cluster, err = cluster.Open(ctx, cluster.Config{URL: h.about.Service, TLS: h.tlsFiles()})
	if err != nil {
		return fmt.Errorf("the membership service: %w", err)
	}
	return nil
}

func (h *Host) tlsFiles() (f cluster.TLSFiles) {
	f.CA, f.Cert, f.Key = h.Keys.Files()
	return f
}

func (h *Host) network(name string) (*fabric.Sockets, error) {
	identity, err := h.Keys.Load()
	if err != nil {
		return nil, err
	}
	if identity != nil {
		name = identity.Name // the machine's, for all its workers
	}
	return fabric.NewSockets(fabric.Options{Name: name, Keys: identity})
}

// name is that of worker i.
func (h *Host) name(i int) string {
	if h.Workers == 1 {
		return h.Name
	}
	return h.Name + strconv.Itoa(i)
}

// addr is where worker i listens.
func (h *Host) addr(i int) (string, error) {
	if h.Listen == "" {
		return "unix:" + filepath.Join(h.scratch.Path(), "w"+strconv.Itoa(i)), nil
	}
	host, text, err := net.SplitHostPort(h.Listen)
	if err != nil {
		return "", err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || int(port)+i > 65535 {
		return "", fmt.Errorf("listening at %s: %q is no port that other machines can be told", h.Listen, text)
	}
	return "tcp:" + net.JoinHostPort(host, strconv.Itoa(int(port)+i)), nil
}

// prepare makes what worker i stands on.
func (h *Host) prepare(i int) (w *hosted, err error) {
	w = &hosted{member: group.Member{ID: group.NewID(), Name: h.name(i), Host: group.ThisHost()}}
	if w.member.Addr, err = h.addr(i); err != nil {
		return nil, err
	}
	if w.network, err = h.network(w.member.Name); err != nil {
		return nil, err
	}
	if h.Logs != "" {
		w.log, err = steplog.Open(filepath.Join(h.Logs, w.member.Name), steplog.Options{})
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *hosted) close() {
	_ = w.network.Close() // its sockets are of no more use
	if w.log != nil {
		_ = w.log.Close() // each record was written when it was made
	}
}

// config is a worker's.
func (h *Host) config(w *hosted, founders []group.Member) (group.Config, error) {
	text, err := json.Marshal(h.about)
	if err != nil {
		return group.Config{}, err
	}
	c := group.Config{
		Group: h.about.Group, Self: w.member, Founders: founders, Join: h.Join, Network: w.network,
		About: text, Log: w.log, Logger: h.Logger,
	}
	if len(founders) == 0 {
		c.Self.ID = 0
	}
	if h.cluster != nil {
		c.Authority = group.ByRegister(h.cluster.Register("groups/" + h.about.Group))
	}
	return c, nil
}

// serve runs all workers to their end.
func (h *Host) serve(ctx context.Context, workers []*hosted) (Summary, error) {
	var founders []group.Member
	if len(h.Join) == 0 {
		for _, w := range workers {
			founders = append(founders, w.member)
		}
	}
	ctx, leave := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { h.watchNotices(ctx, leave) })
	defer watch.Wait()
	defer leave()
	stop := context.AfterFunc(ctx, func() {
		for _, w := range workers {
			w.leave()
		}
	})
	defer stop()
	errs := make([]error, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		config, err := h.config(w, founders)
		if err != nil {
			return Summary{}, err
		}
		all.Go(func() {
			if errs[i] = h.work(ctx, w, config, i); errs[i] != nil && len(workers) > 1 {
				h.Remark("worker %s: %v", w.member.Name, errs[i])
			}
		})
	}
	all.Wait()
	s := Summary{Group: h.about.Group, Workers: len(workers)}
	for _, err := range errs {
		if err != nil {
			s.Lost++
		}
	}
	if s.Lost == len(workers) {
		return s, errs[0]
	}
	return s, nil
}

// watchNotices makes all workers leave when the machine will be taken.
func (h *Host) watchNotices(ctx context.Context, leave func()) {
	source := notice.From(h.Notice)
	if source == nil {
		return
	}
	failed := false
	words, err := notice.Watch(ctx, source, time.Second, func(err error) {
		if !failed {
			h.Remark("asking for notices: %v", err)
		}
		failed = true
	})
	if err == nil {
		h.Remark("the workers leave: %s", words)
		leave()
	}
}

// leave makes the worker leave its group.
func (w *hosted) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaving = true
	if w.session != nil {
		w.session.Leave()
	}
}

// hangUp ends the session, once it has read what its program has said: that has ended, but processes that it has
// forked may still hold its end of the socket, such as those that load data.
func (w *hosted) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.session != nil {
		_ = w.session.conn.CloseRead() // it may have ended
	}
}

// work is one worker: its program, if there is one, and its session.
func (h *Host) work(ctx context.Context, w *hosted, config group.Config, i int) error {
	path := h.Socket
	if path == "" {
		path = filepath.Join(h.scratch.Path(), "agent"+strconv.Itoa(i))
	}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return fmt.Errorf("the program's socket: %w", err)
	}
	defer l.Close()
	if len(h.Command) == 0 {
		stop := context.AfterFunc(ctx, func() { l.Close() })
		defer stop()
		h.Remark("waiting for a program at %s=unix:%s", Variable, path)
		return h.session(ctx, l, w, config)
	}
	cmd, err := h.start(path, w.member.Name)
	if err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { // ends with the program
		over <- cmd.Wait()
		l.Close() // one that has not connected never will
		w.hangUp()
	}()
	sessionErr := h.session(ctx, l, w, config)
	if sessionErr != nil && !errors.Is(sessionErr, net.ErrClosed) {
		h.hurry(cmd, over)
	}
	programErr := <-over
	switch {
	case programErr != nil && (sessionErr == nil || errors.Is(sessionErr, io.EOF) || ended(sessionErr)):
		return fmt.Errorf("its program: %w", programErr)
	case errors.Is(sessionErr, net.ErrClosed) && programErr != nil:
		return fmt.Errorf("its program has ended without a word to its agent: %w", programErr)
	case errors.Is(sessionErr, net.ErrClosed):
		return errors.New("its program has ended without a word to its agent")
	}
	return sessionErr
}

// session serves the first that connects.
func (h *Host) session(ctx context.Context, l *net.UnixListener, w *hosted, config group.Config) error {
	c, err := l.AcceptUnix()
	if err != nil {
		return err
	}
	l.Close() // a worker has one program
	s := NewSession(c, config)
	w.mu.Lock()
	w.session = s
	if w.leaving {
		s.Leave()
	}
	if w.ended {
		_ = c.CloseRead()
	}
	w.mu.Unlock()
	return s.Run(context.WithoutCancel(ctx))
}

// start starts a worker's program.
func (h *Host) start(path, name string) (*exec.Cmd, error) {
	cmd := exec.Command(h.Command[0], h.Command[1:]...)
	cmd.Env = append(os.Environ(), Variable+"=unix:"+path, "MILLRACE_WORKER="+name)
	cmd.Stdout, cmd.Stderr = h.Stdout, h.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's interrupt is the agent's to pass on
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("its program: %w", err)
	}
	return cmd, nil
}

// patience is how long a program may go on that its agent has no more use for.
const patience = 10 * time.Second

// hurry ends a program that does not end by itself although its session has.
func (h *Host) hurry(cmd *exec.Cmd, over chan error) {
	select {
	case err := <-over:
		over <- err
	case <-time.After(patience):
		_ = cmd.Process.Kill() // it may have ended
	}
}
