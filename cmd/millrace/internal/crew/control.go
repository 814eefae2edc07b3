package crew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"millrace.dev/group"
	"millrace.dev/internal/durable"
	"millrace.dev/internal/rundir"
)

// groupFile says where the launcher of a run that is under way can be asked.
const groupFile = "group.json"

// running is what the group file holds.
type running struct {
	PID     int      `json:"pid"`
	Control string   `json:"control"` // path of a Unix socket
	Workers []string `json:"workers"` // addresses where they listen
}

// Status is the situation of a run's workers on this machine.
type Status struct {
	Run     string         `json:"run"`
	Workers []WorkerStatus `json:"workers"`
	Target  int            `json:"target"` // how many there are to be
	Missing string         `json:"missing,omitempty"`
}

// WorkerStatus is what is known of one.
type WorkerStatus struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	group.Status
	Silent string `json:"silent,omitempty"` // why it gives no status
}

// request is something asked of the launcher, on its own goroutine.
type request struct{ do func(*Launcher) }

// asking bounds how long a worker may take for its answer.
const asking = 2 * time.Second

// serve makes the launcher answer on a Unix socket.
func (l *Launcher) serve() error {
	listener, err := net.Listen("unix", l.controlPath())
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", l.serveStatus)
	mux.HandleFunc("POST /resize", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("n"))
		if err != nil {
			http.Error(w, "n must be a number", http.StatusBadRequest)
			return
		}
		l.answer(w, r, func() error { return l.resize(n) })
	})
	mux.HandleFunc("POST /drain", func(w http.ResponseWriter, r *http.Request) {
		l.answer(w, r, func() error { return l.drain(r.FormValue("worker")) })
	})
	l.server = &http.Server{Handler: mux, ReadHeaderTimeout: asking, ReadTimeout: asking, MaxHeaderBytes: 16 << 10}
	l.running.Go(func() { _ = l.server.Serve(listener) }) // ends when it is closed
	return nil
}

func (l *Launcher) controlPath() string { return filepath.Join(l.scratch, "control") }

// endService stops answering and leaves no file that says otherwise.
func (l *Launcher) endService() {
	if l.session.journal != nil {
		_ = l.session.journal.Close() // nothing was written
		_ = os.Remove(l.Dir.File(groupFile))
	}
}

// note writes who works on the run now.
func (l *Launcher) note() {
	now := running{PID: os.Getpid(), Control: l.controlPath()}
	for _, c := range l.children {
		now.Workers = append(now.Workers, c.addr)
	}
	err := durable.WriteFile(l.Dir.File(groupFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(now) })
	if err != nil {
		l.Observe.WriteFailed(err)
	}
}

// ask runs f on the launcher's goroutine.
func (l *Launcher) ask(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case l.requests <- request{func(*Launcher) { f(); close(done) }}:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer runs f on the launcher's goroutine and tells its error.
func (l *Launcher) answer(w http.ResponseWriter, r *http.Request, f func() error) {
	var err error
	if failed := l.ask(r.Context(), func() { err = f() }); failed != nil {
		err = failed
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// serveStatus asks each worker.
func (l *Launcher) serveStatus(w http.ResponseWriter, r *http.Request) {
	s := Status{Run: l.Dir.Path(), Workers: []WorkerStatus{}}
	var addrs []string
	if err := l.ask(r.Context(), func() {
		s.Target = l.Workers
		for _, c := range l.children {
			s.Workers = append(s.Workers, WorkerStatus{Name: c.name, PID: c.cmd.Process.Pid})
			addrs = append(addrs, c.addr)
		}
		if missing := l.Workers - l.staying(); missing > 0 && !l.replaceAt.IsZero() {
			s.Missing = fmt.Sprintf("%d, to be started in %v", missing, max(0, time.Until(l.replaceAt)).Round(time.Second))
		}
	}); err != nil {
		return
	}
	network, err := openNetwork("launcher", l.Keys)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer network.Close()
	for i := range s.Workers {
		ctx, cancel := context.WithTimeout(r.Context(), asking)
		text, err := group.Ask(ctx, network, addrs[i:i+1], group.Question{Status: true})
		if err == nil {
			err = json.Unmarshal(text, &s.Workers[i].Status)
		}
		if err != nil {
			s.Workers[i].Silent = err.Error()
		}
		cancel()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s) // one that has gone away needs no answer
}

// Control asks the launcher of a run that is under way.
type Control struct {
	run    string
	client *http.Client
}

// maxAnswer bounds a launcher's answer.
const maxAnswer = 16 << 20

// OpenControl finds the launcher of a run.
func OpenControl(dir rundir.Dir) (*Control, error) {
	text, err := os.ReadFile(dir.File(groupFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &rundir.Error{Path: dir.Path(), Cause: errors.New("no workers are at work on it now")}
	}
	if err != nil {
		return nil, &rundir.Error{Path: dir.Path(), Cause: err}
	}
	var now running
	if err := json.Unmarshal(text, &now); err != nil {
		return nil, &rundir.Error{Path: dir.Path(), Cause: fmt.Errorf("%s: %w", groupFile, err)}
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", now.Control)
		if err != nil {
			return nil, fmt.Errorf("process %d, which kept the run's workers, has ended without saying so (%w)", now.PID, err)
		}
		return conn, nil
	}
	return &Control{dir.Path(), &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: time.Minute}}, nil
}

// do sends a request and returns the answer's body.
func (c *Control) do(ctx context.Context, method, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://launcher"+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, &rundir.Error{Path: c.run, Cause: errors.Unwrap(err)}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(string(bytes.TrimSpace(body)))
	}
	return body, nil
}

// Status asks how the workers are.
func (c *Control) Status(ctx context.Context) (s Status, err error) {
	body, err := c.do(ctx, http.MethodGet, "/status")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(body, &s)
}

// Resize asks for another number of workers.
func (c *Control) Resize(ctx context.Context, n int) error {
	_, err := c.do(ctx, http.MethodPost, "/resize?n="+strconv.Itoa(n))
	return err
}

// Drain asks a worker to leave for good, or all when name is empty.
func (c *Control) Drain(ctx context.Context, name string) error {
	_, err := c.do(ctx, http.MethodPost, "/drain?worker="+name)
	return err
}
