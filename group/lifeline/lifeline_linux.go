package lifeline

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/unixsock"
)

// strands is the number of threads that each keep a pipe: of two, one is not the last to die.
const strands = 2

// patience bounds how long a peer may take to hand out or take its files.
const patience = time.Second

// Line is this process's end: it is cut when the process dies, or by Close.
type Line struct {
	listener *net.UnixListener
	ends     []int // the read ends
	controls []int // a thread ends when its own is closed
	running  sync.WaitGroup
}

func address(id uint64) *net.UnixAddr {
	return &net.UnixAddr{Name: fmt.Sprintf("@millrace-life-%016x", id), Net: "unix"}
}

func unsupported(what string, err error) error {
	return fmt.Errorf("lifeline: %s: %w: %w", what, err, errors.ErrUnsupported)
}

// Open makes the line of the worker with an ID that no other has.
func Open(id uint64) (*Line, error) {
	listener, err := net.ListenUnix("unix", address(id)) // first, so that the runtime has its files
	if err != nil {
		return nil, unsupported("handing out files", err)
	}
	l := &Line{listener: listener}
	files, err := runtimeFiles()
	for range strands {
		if err == nil {
			err = l.strand(files)
		}
	}
	if err != nil {
		l.Close() //nolint:errcheck // the first error counts
		return nil, unsupported("a thread with files of its own", err)
	}
	l.running.Go(l.serve)
	return l, nil
}

// runtimeFiles are the files through which the Go runtime waits and wakes, and the standard error for its last words.
// It uses them from any thread, also from one that is locked, and ends the process where it cannot.
func runtimeFiles() ([]int, error) {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := []int{syscall.Stderr}
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		kind, _ := os.Readlink(filepath.Join(dir, e.Name())) // gone where it was closed meanwhile
		if err == nil && (kind == "anon_inode:[eventfd]" || kind == "anon_inode:[eventpoll]") {
			files = append(files, number)
		}
	}
	return files, nil
}

// strand starts a thread that has the write end of a pipe alone, and no files else but the runtime's.
func (l *Line) strand(files []int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ready := make(chan error, 1)
	l.running.Go(func() { hold(pair[1], files, ready) })
	if err := <-ready; err != nil {
		unix.Close(pair[0]) //nolint:errcheck
		unix.Close(pair[1]) //nolint:errcheck
		return err
	}
	unix.Close(pair[1]) //nolint:errcheck // the thread has its own
	l.controls = append(l.controls, pair[0])
	end, err := receive(pair[0])
	if err != nil {
		return err
	}
	l.ends = append(l.ends, end)
	return nil
}

// hold runs on a thread that is never used for anything else and ends with the goroutine. That is never
// the process's first one, whose table is what /proc/self/fd shows.
func hold(control int, files []int, ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		ended := make(chan struct{})
		go func() { defer close(ended); hold(control, files, ready) }()
		<-ended // this goroutine keeps the first thread from it
		runtime.UnlockOSThread()
		return
	}
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		ready <- err
		return
	}
	// From here on the numbers of files are those of this thread's table.
	var pipe [2]int
	err := unix.Pipe2(pipe[:], unix.O_CLOEXEC)
	if err == nil {
		err = unix.Sendmsg(control, []byte{0}, unix.UnixRights(pipe[0]), nil, 0)
	}
	if err == nil {
		err = closeOthers(append([]int{control, pipe[1]}, files...))
	}
	ready <- err
	if err != nil {
		return
	}
	for {
		if _, err := unix.Read(control, make([]byte, 1)); err != unix.EINTR {
			return // the other side has closed
		}
	}
}

// closeOthers closes all files of the thread's table but these.
func closeOthers(kept []int) error {
	slices.Sort(kept)
	next := 0
	for _, file := range append(kept, math.MaxInt32) {
		if next < file {
			if err := unix.CloseRange(uint(next), uint(file-1), 0); err != nil {
				return err
			}
		}
		next = file + 1
	}
	return nil
}

// receive takes a file that came over a socket.
func receive(socket int) (int, error) {
	var one [1]byte
	rights := make([]byte, unix.CmsgSpace(4*strands))
	n, used, _, _, err := unix.Recvmsg(socket, one[:], rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	fds, err := unixsock.Files(rights[:used])
	if err != nil || n != 1 || len(fds) != 1 {
		unixsock.CloseFiles(fds)
		return -1, errors.Join(err, errors.New("no file came"))
	}
	return fds[0], nil
}

// serve hands the read ends to all who come.
func (l *Line) serve() {
	for {
		c, err := l.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors
			continue
		}
		l.give(c)
	}
}

// give hands the read ends to one peer, if it is this user's.
func (l *Line) give(c *net.UnixConn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // fails on closed connections only
	if unixsock.CheckUser(c) != nil {
		return
	}
	c.WriteMsgUnix([]byte{0}, unix.UnixRights(l.ends...), nil) //nolint:errcheck // who does not get them does without
}

// Close cuts the line.
func (l *Line) Close() error {
	if l.listener != nil {
		l.listener.Close() //nolint:errcheck
	}
	unixsock.CloseFiles(l.controls)
	l.running.Wait()
	unixsock.CloseFiles(l.ends)
	l.controls, l.ends = nil, nil
	return nil
}

// Watched is a line of another process that is watched.
type Watched struct {
	files   []*os.File
	running sync.WaitGroup
}

// Watch calls dead once, on a goroutine of its own, when the process whose line has this ID has died or
// closed it, unless Close comes first.
func Watch(id uint64, dead func()) (*Watched, error) {
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.Dial("unix", address(id).String())
	if err != nil {
		return nil, unsupported("asking for a line", err)
	}
	c := conn.(*net.UnixConn)
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // fails on closed connections only
	if err := unixsock.CheckUser(c); err != nil {
		return nil, unsupported("asking for a line", err)
	}
	var one [1]byte
	rights := make([]byte, unix.CmsgSpace(4*strands))
	_, used, _, _, err := c.ReadMsgUnix(one[:], rights)
	if err != nil {
		return nil, unsupported("taking a line", err)
	}
	fds, err := unixsock.Files(rights[:used])
	if err != nil || len(fds) == 0 {
		unixsock.CloseFiles(fds)
		return nil, unsupported("taking a line", errors.Join(err, errors.New("no file came")))
	}
	w := &Watched{}
	for _, fd := range fds {
		unix.SetNonblock(fd, true) //nolint:errcheck // fails on what is no file only
		w.files = append(w.files, os.NewFile(uintptr(fd), "lifeline"))
	}
	var once sync.Once
	for _, f := range w.files {
		w.running.Go(func() {
			if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
				once.Do(dead)
			}
		})
	}
	return w, nil
}

// Close ends the watch and waits for its goroutines; dead must not call it.
func (w *Watched) Close() error {
	for _, f := range w.files {
		f.Close() //nolint:errcheck // nothing was written
	}
	w.running.Wait()
	return nil
}
