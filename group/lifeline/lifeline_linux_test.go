package lifeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace.dev/internal/unixsock/unixsocktest"
)

const childVariable = "MILLRACE_LIFELINE_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// child opens a line and waits, with some memory that takes time to tear down.
func child(text string) int {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 1
	}
	memory := make([]byte, 256<<20)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	if _, err := Open(id); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("open")
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // waits
	fmt.Println(memory[0])
	return 0
}

// start runs a child and returns when its line is open.
func start(t *testing.T, id uint64) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childVariable, id))
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) != "open" {
		cmd.Process.Kill() //nolint:errcheck
		cmd.Wait()         //nolint:errcheck
		if errors.Is(err, io.EOF) || strings.Contains(line, "unsupported") {
			t.Skip("not possible here: ", line)
		}
		t.Fatal(line, err)
	}
	return cmd, out
}

// TestDeath kills a process: the watch tells, and its standard output ends as well, later or not.
func TestDeath(t *testing.T) {
	id := uint64(os.Getpid())<<20 | 1
	cmd, out := start(t, id)
	dead := make(chan time.Time, 2)
	w, err := Watch(id, func() { dead <- time.Now() })
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-dead:
		t.Fatal("it is said to be dead while it lives")
	case <-time.After(50 * time.Millisecond):
	}
	killed := time.Now()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, out) //nolint:errcheck // until its end
	ended := time.Since(killed)
	seen := (<-dead).Sub(killed)
	cmd.Wait() //nolint:errcheck // it was killed
	w.Close()  //nolint:errcheck
	t.Logf("the line was cut after %v, other files closed after %v", seen, ended)
	if len(dead) != 0 {
		t.Error("it died twice")
	}
}

// TestClose: closing the line is like death to those who watch, and a watch that is closed tells nothing.
func TestClose(t *testing.T) {
	id := uint64(os.Getpid())<<20 | 2
	l, err := Open(id)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dead, silent := make(chan struct{}), make(chan struct{}, 1)
	w, err := Watch(id, func() { close(dead) })
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := Watch(id, func() { silent <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	quiet.Close() //nolint:errcheck
	l.Close()     //nolint:errcheck
	<-dead
	w.Close() //nolint:errcheck
	if len(silent) != 0 {
		t.Error("a watch that was closed has told")
	}
	if _, err := Watch(id, func() {}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("watching nobody: %v", err)
	}
}

// TestFilesStayApart: a child process, and files opened later, are not held by the line's threads.
func TestFilesStayApart(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	id := uint64(os.Getpid())<<20 | 3
	l, err := Open(id)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Close() //nolint:errcheck
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("somebody else holds a pipe open: %v", err)
	}
	r.Close() //nolint:errcheck
	l.Close() //nolint:errcheck
}

// TestFirstThread opens lines from goroutines on all threads: none takes the process's first one, which
// would hide the process's files from itself.
func TestFirstThread(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 200 {
		l, err := Open(uint64(os.Getpid())<<20 | 5)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Lstat(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		l.Close() //nolint:errcheck
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMany: opening and closing leaves no threads' files behind.
func TestMany(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	var before int
	for i := range 50 {
		l, err := Open(uint64(os.Getpid())<<20 | 4)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Close() //nolint:errcheck
		if i == 5 {
			before = count()
		}
	}
	if after := count(); after > before {
		t.Errorf("%d files are open after all, %d near the beginning", after, before)
	}
}

// TestRuntimeFiles: the threads with files of their own have those through which the runtime waits and wakes, since a
// thread uses them when it gives up its processor, and the process ends with a fatal error where it cannot.
func TestRuntimeFiles(t *testing.T) {
	l, err := Open(uint64(os.Getpid())<<20 | 6)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tasks, err := filepath.Glob("/proc/self/task/*/fd")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"anon_inode:[eventfd]", "anon_inode:[eventpoll]", "pipe", "socket", "standard error"}
	own := 0
	for _, dir := range tasks {
		if kinds := filesIn(t, dir); len(kinds) <= len(want) {
			own++
			if !slices.Equal(kinds, want) {
				t.Errorf("a thread has %q, not %q", kinds, want)
			}
		}
	}
	if own != strands {
		t.Errorf("%d threads have files of their own, not %d", own, strands)
	}
}

// filesIn names the files of a table by their kinds, in order.
func filesIn(t *testing.T, dir string) (kinds []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		kind, err := os.Readlink(filepath.Join(dir, e.Name()))
		switch {
		case e.Name() == "2":
			kind = "standard error"
		case err != nil:
			continue
		case !strings.HasPrefix(kind, "anon_inode:"):
			kind, _, _ = strings.Cut(kind, ":")
		}
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func TestOtherUsersGetNoLine(t *testing.T) {
	id := uint64(os.Getpid())<<20 | 99
	l, err := Open(id)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("not possible here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	unixsocktest.Stranger(t, address(id), func(c *net.UnixConn) {
		if n, control, _, _, err := c.ReadMsgUnix(make([]byte, 1), make([]byte, 64)); err == nil && n+control > 0 {
			t.Errorf("a process of another user gets %d bytes and %d of files", n, control)
		}
	})
}
