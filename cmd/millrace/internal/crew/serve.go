package crew

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"millrace.dev/group"
	"millrace.dev/group/metrics"
	"millrace.dev/internal/durable"
)

// groupFile says where the launcher of a run that is under way can be asked.
const groupFile = "group.json"

// running is what the group file holds.
type running struct {
	PID     int      `json:"pid"`
	Control string   `json:"control"` // path of a Unix socket
	Workers []string `json:"workers"` // addresses where they listen
}

// asking bounds how long a worker may take for its answer.
const asking = 2 * time.Second

// serve makes the launcher answer on a Unix socket, and tell its metrics at a port where that is asked for.
func (l *Launcher) serve() error {
	listener, err := net.Listen("unix", l.controlPath())
	if err != nil {
		return err
	}
	l.server = &http.Server{Handler: l.handler(), ReadHeaderTimeout: asking, ReadTimeout: asking, MaxHeaderBytes: 16 << 10}
	l.running.Go(func() { _ = l.server.Serve(listener) }) // ends when it is closed
	if l.Metrics == "" {
		return nil
	}
	if l.measures, err = metrics.Serve(l.Metrics, l.Keys, l.answering); err != nil {
		return err
	}
	l.Observer.Remark("metrics are at %s", l.measures.URL())
	return nil
}

// handler answers those who ask the launcher.
func (l *Launcher) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", l.serveStatus)
	mux.Handle("GET "+metrics.Path, metrics.Handler(l.answering))
	mux.HandleFunc("POST /resize", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("n"))
		if err != nil {
			http.Error(w, "n must be a number", http.StatusBadRequest)
			return
		}
		l.answer(w, r, func() (string, error) { return "", l.resize(n) })
	})
	mux.HandleFunc("POST /drain", func(w http.ResponseWriter, r *http.Request) {
		l.answer(w, r, func() (string, error) { return l.drain(r.FormValue("worker")) })
	})
	return mux
}

func (l *Launcher) controlPath() string { return filepath.Join(l.scratch.Path(), "control") }

// note writes who works on the run now.
func (l *Launcher) note() {
	now := running{PID: os.Getpid(), Control: l.controlPath()}
	for _, c := range l.children {
		now.Workers = append(now.Workers, c.addr)
	}
	err := durable.WriteFile(l.Dir.File(groupFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(now) })
	if err != nil {
		l.Observer.WriteFailed(err)
	}
}

// ask runs f on the launcher's goroutine.
func (l *Launcher) ask(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case l.requests <- func() { f(); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer runs f on the launcher's goroutine and tells its words or its error.
func (l *Launcher) answer(w http.ResponseWriter, r *http.Request, f func() (string, error)) {
	var words string
	var err error
	if failed := l.ask(r.Context(), func() { words, err = f() }); failed != nil {
		err = failed
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	_, _ = io.WriteString(w, words) // one that has gone away needs no answer
}

// serveStatus tells how the workers are.
func (l *Launcher) serveStatus(w http.ResponseWriter, r *http.Request) {
	s, err := l.statuses(r.Context())
	if err != nil {
		return // nobody waits for the answer any more
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s) // one that has gone away needs no answer
}

// statuses asks each worker.
func (l *Launcher) statuses(ctx context.Context) (Status, error) {
	s := Status{Run: l.Dir.Path(), Workers: []WorkerStatus{}}
	var addrs []string
	if err := l.ask(ctx, func() { s, addrs = l.status(s) }); err != nil {
		return s, err
	}
	var asked sync.WaitGroup
	for i := range s.Workers {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, asking)
			defer cancel()
			if err := ask(ctx, l.Keys, addrs[i:i+1], group.Question{Status: true}, &s.Workers[i].Status); err != nil {
				s.Workers[i].Silent = err.Error()
			}
		})
	}
	asked.Wait()
	return s, nil
}

// answering are the statuses of the workers that give one.
func (l *Launcher) answering(ctx context.Context) (list []group.Status) {
	s, err := l.statuses(ctx)
	if err != nil {
		return nil
	}
	for i := range s.Workers {
		if s.Workers[i].Silent == "" {
			list = append(list, s.Workers[i].Status)
		}
	}
	return list
}

// status is what the launcher itself knows.
func (l *Launcher) status(s Status) (Status, []string) {
	s.Target = l.target.workers
	var addrs []string
	for _, c := range l.children {
		s.Workers = append(s.Workers, WorkerStatus{
			Name: c.name, PID: c.cmd.Process.Pid, Leaving: c.leaving, Trained: c.trained, Finishing: c == l.finisher,
		})
		addrs = append(addrs, c.addr)
	}
	if missing := l.target.workers - l.staying(); missing > 0 && l.shown.stalled != "" {
		s.Missing = fmt.Sprintf("%d, to be started once the others can go on", missing)
	} else if missing > 0 && !l.target.due.IsZero() {
		s.Missing = fmt.Sprintf("%d, to be started in %v", missing, max(0, time.Until(l.target.due)).Round(time.Second))
	}
	return s, addrs
}

// newcomers finds a beginning for the names of workers that join a group from here, which no member
// has: that of this machine, with a number if there are such members already.
func (l *Launcher) newcomers(ctx context.Context) (string, error) {
	var s group.Status
	if err := ask(ctx, l.Keys, l.Join, group.Question{Status: true}, &s); err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	host, _, _ = strings.Cut(host, ".")
	for n := 1; ; n++ {
		prefix := host + "-"
		if n > 1 {
			prefix = fmt.Sprintf("%s-%d-", host, n)
		}
		if !slices.ContainsFunc(s.Members, func(name string) bool { return strings.HasPrefix(name, prefix+"w") }) {
			return prefix + "w", nil
		}
	}
}
