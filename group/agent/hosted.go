package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"millrace.dev/fabric"
	"millrace.dev/group"
	"millrace.dev/group/steplog"
)

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

// leave makes the worker leave its group.
func (w *hosted) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaving = true
	if w.session != nil {
		w.session.Leave()
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
	if sessionErr != nil && !errors.Is(sessionErr, net.ErrClosed) && !errors.Is(sessionErr, io.EOF) {
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

// patience is how long a program may go on whose session its agent has ended. One that has ended it itself has its
// reasons, such as to save what it has.
const patience = 10 * time.Second

// hurry ends a program that does not end by itself although its agent has ended its session.
func (h *Host) hurry(cmd *exec.Cmd, over chan error) {
	select {
	case err := <-over:
		over <- err
	case <-time.After(cmp.Or(h.patience, patience)):
		_ = cmd.Process.Kill() // it may have ended
	}
}
