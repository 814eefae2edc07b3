package agent

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace.dev/fabric/keys"
	"millrace.dev/group/steplog"
	"millrace.dev/internal/freeport"
)

const (
	programVariable = "MILLRACE_TEST_PROGRAM"
	noticeVariable  = "MILLRACE_TEST_NOTICE"
)

// TestProgram is a worker's program when a host has started this binary: it takes ten steps,
// or steps until it is to leave, or fails in one way or another.
func TestProgram(t *testing.T) {
	switch os.Getenv(programVariable) {
	case "":
		return // an ordinary run of the tests
	case "fails":
		os.Exit(7)
	}
	path := strings.TrimPrefix(os.Getenv(Variable), "unix:")
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := &client{t: t, c: c}
	x.say(request{Type: "hello", Version: Version, Elements: 100})
	x.hear("started")
	switch os.Getenv(programVariable) {
	case "gives up":
		c.Close()
		time.Sleep(200 * time.Millisecond)
		os.Exit(3)
	case "is stuck":
		x.say(request{Type: "nonsense"})
		time.Sleep(time.Hour)
	}
	for i := 0; os.Getenv(programVariable) != "trains" || i < 10; i++ {
		x.say(request{Type: "begin"})
		if a := x.next(); a.Type == "left" {
			break
		} else if a.Type != "step" {
			t.Fatalf("begin is answered by %+v", a)
		}
		if i == 3 && os.Getenv(programVariable) == "endless" {
			notice := os.Getenv(noticeVariable)
			if err := os.WriteFile(notice, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x.say(request{Type: "commit", Samples: 1})
		x.hear("result")
	}
	x.say(request{Type: "bye"})
}

func newHost(t *testing.T, workers int, said *bytes.Buffer) *Host {
	needsMemory(t)
	var mu sync.Mutex
	return &Host{
		Command: []string{os.Args[0], "-test.run=^TestProgram$"}, Workers: workers, Group: "test", Name: "w", Logs: t.TempDir(), Stderr: os.Stderr,
		Remark: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			said.WriteString(format)
		},
	}
}

func TestHost(t *testing.T) {
	t.Setenv(programVariable, "trains")
	var said bytes.Buffer
	h := newHost(t, 2, &said)
	s, err := h.Run(context.Background())
	if err != nil || s != (Summary{Group: "test", Workers: 2}) || said.Len() > 0 {
		t.Fatalf("%+v, %v, %s", s, err, &said)
	}
	records, err := steplog.Merge(h.Logs+"/w0", h.Logs+"/w1")
	if err != nil || len(records) != 10 || records[9].Weight != 2 {
		t.Fatalf("%d steps, %v", len(records), err)
	}
}

// TestHostWithKeys: the workers of a machine share its keys, whatever they are called.
func TestHostWithKeys(t *testing.T) {
	t.Setenv(programVariable, "trains")
	dir := t.TempDir()
	authority, err := keys.CreateAuthority(dir, "test", time.Hour)
	if err == nil {
		err = authority.Issue(dir, "machine", time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	h := newHost(t, 2, &said)
	h.Keys, h.Majority, h.Metrics = keys.Place{Dir: dir, Name: "machine"}, true, "127.0.0.1:0"
	h.Listen = fmt.Sprintf("127.0.0.1:%d", freeport.Find(t, 2))
	s, err := h.Run(context.Background())
	if err != nil || s.Lost != 0 || said.String() != "metrics are at %s" {
		t.Fatalf("%+v, %v, %s", s, err, &said)
	}
}

// TestNotice: workers that would train for ever leave once a file says that the machine will be taken.
func TestNotice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notice")
	t.Setenv(programVariable, "endless")
	t.Setenv(noticeVariable, path)
	var said bytes.Buffer
	h := newHost(t, 2, &said)
	h.Notice = path
	s, err := h.Run(context.Background())
	if err != nil || s.Lost != 0 || !strings.Contains(said.String(), "the workers leave") {
		t.Fatalf("%+v, %v, %s", s, err, &said)
	}
}

func TestHostOfProgramsThatFail(t *testing.T) {
	t.Setenv(programVariable, "fails")
	var said bytes.Buffer
	s, err := newHost(t, 2, &said).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "without a word") || s.Lost != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	h := newHost(t, 1, &said)
	h.Command = []string{"/nowhere/program"}
	if _, err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "/nowhere/program") {
		t.Fatal(err)
	}
}

// TestPatience: a program that has ended its session may take its time, one whose agent has ended it may not.
func TestPatience(t *testing.T) {
	for program, want := range map[string]string{"gives up": "exit status 3", "is stuck": "nonsense"} {
		t.Setenv(programVariable, program)
		var said bytes.Buffer
		h := newHost(t, 1, &said)
		h.patience = time.Millisecond
		if _, err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a program that %s: %v", program, err)
		}
	}
}

func TestHostRefusals(t *testing.T) {
	for name, h := range map[string]*Host{
		"no workers":  {Command: []string{"x"}},
		"no program":  {Workers: 1},
		"one program": {Workers: 2, Socket: "/tmp/x"},
	} {
		if _, err := h.Run(context.Background()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
