package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"millrace.dev/cluster"
	"millrace.dev/fabric"
	"millrace.dev/fabric/keys"
	"millrace.dev/group"
	"millrace.dev/group/metrics"
	"millrace.dev/group/notice"
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

	scratch  *scratch.Dir // of sockets
	about    about
	cluster  *cluster.Cluster
	patience time.Duration // 0: patience
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
