package crew

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"millrace.dev/group"
	"millrace.dev/internal/rundir"
	"millrace.dev/internal/scratch"
	"millrace.dev/learn/train"
)

// deaf is an observer that nothing is told to.
type deaf struct{}

func (deaf) Window(train.Progress) {}
func (deaf) Epoch(train.Epoch)     {}
func (deaf) WriteFailed(error)     {}
func (deaf) Changed(Change)        {}
func (deaf) Skipped(int, string)   {}
func (deaf) Stalled(string)        {}
func (deaf) Remark(string, ...any) {}

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// oneRun is a run's directory for all inputs of a target.
func oneRun(f *testing.F) rundir.Dir {
	f.Helper()
	dir, err := rundir.Create("train", filepath.Join(f.TempDir(), "run"), time.Now())
	if err != nil {
		f.Fatal(err)
	}
	return dir
}

// newLauncher is one that keeps children which are no processes, and can start none.
func newLauncher(dir rundir.Dir, children ...string) *Launcher {
	l := &Launcher{
		Dir: dir, Setup: Setup{Workers: len(children)}, Observer: deaf{}, program: filepath.Join(dir.Path(), "no-program"),
		session: session{path: dir.Path()}, requests: make(chan func()), scratch: &scratch.Dir{}, Join: []string{"unix:" + dir.File("nobody")},
	}
	l.target.workers = len(children)
	for _, name := range children {
		c := &child{name: name, addr: "unix:" + dir.File(name), cmd: &exec.Cmd{Process: &os.Process{}}, in: nowhere{io.Discard}, errors: &tail{}}
		c.orders = json.NewEncoder(c.in)
		l.children = append(l.children, c)
	}
	return l
}

// FuzzWords reads lines that a child says: whatever these are, the launcher goes on, and at most one child is
// to write the results.
func FuzzWords(f *testing.F) {
	for _, w := range []word{
		{Window: &train.Progress{Step: 3}}, {Epoch: &epochWord{train.Epoch{Number: 1}, 2.5}}, {Change: &Change{View: 2, Members: []string{"w0"}}},
		{Skip: &skipWord{4, "w1"}}, {Stalled: "why"}, {Trouble: "no room"}, {Trained: true}, {Failed: &failure{"it", true}}, {Left: "so"},
	} {
		text, err := json.Marshal(w)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"trained":true}` + "\n" + `{"result":{"steps":3}}`))
	f.Add([]byte(`{"epoch":{"seconds":1e300}}`))
	dir := oneRun(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLauncher(dir, "w0", "w1")
		for _, c := range l.children {
			_ = lines(bytes.NewReader(text), func(w word) { l.handle(event{child: c, word: w}) })
		}
		l.tick(time.Now())
		if l.closing && l.result == nil && l.err == nil {
			t.Error("it ends without a result or an error")
		}
	})
}

// FuzzOrders reads lines that a parent says.
func FuzzOrders(f *testing.F) {
	f.Add([]byte(`{"down":"w1"}` + "\n" + `{"finish":true}` + "\n" + `{"finish":true}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w := &worker{member: newMember(group.Config{}, chronicle{}, nil), finish: make(chan struct{}), gone: make(chan struct{})}
		w.obey(bytes.NewReader(text))
		select {
		case <-w.gone:
		default:
			t.Error("the end of the orders is not taken for that of the parent")
		}
	})
}

// FuzzControl asks a launcher by requests of any kind: it holds as many workers as can be asked for, and answers.
func FuzzControl(f *testing.F) {
	for _, line := range []string{"GET /status", "POST /resize?n=3", "POST /resize?n=-1", "POST /drain?worker=w1", "POST /drain", "GET /metrics", "PUT /"} {
		f.Add([]byte(line + " HTTP/1.1\r\nHost: launcher\r\n\r\n"))
	}
	dir := oneRun(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		l := newLauncher(dir, "w0")
		over := make(chan struct{})
		go func() {
			defer close(over)
			l.handler().ServeHTTP(httptest.NewRecorder(), r)
		}()
		for {
			select {
			case do := <-l.requests:
				do()
				continue
			case <-over:
			}
			break
		}
		if l.target.workers < 0 || l.target.workers > MaxWorkers || len(l.children) != 1 {
			t.Errorf("%d workers are asked for, %d started", l.target.workers, len(l.children))
		}
	})
}

// FuzzFiles reads a session's and a launcher's file.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(`{"from":3,"workers":2,"majority":true}`))
	f.Add([]byte(`{"pid":1,"control":"/nowhere","workers":["unix:/nowhere"]}`))
	f.Add([]byte(`{"workers":1e9}`))
	dir := oneRun(f)
	at := filepath.Join(dir.File(workersDir), "1")
	if err := os.MkdirAll(at, 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, path := range []string{filepath.Join(at, sessionFile), dir.File(groupFile)} {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if s, _, err := LastTime(dir); err == nil && (s.Workers < 0 || s.Workers > MaxWorkers) {
			t.Errorf("%d workers", s.Workers)
		}
		_, _ = OpenControl(dir)
	})
}
