package fabric

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/unixsock"
)

// unsentSize is how much the system may hold of a TCP stream beyond what the
// network takes at the moment, in bytes: what a control frame has ahead of it
// on a slow link.
const unsentSize = 256 << 10

// maxParts is how many buffers one call writes.
const maxParts = 64

// socket is the stream of Linux: sendmsg and recvmsg with several buffers,
// which never block, under the runtime's poller. What a call needs lies in
// the struct, so that it allocates nothing.
type socket struct {
	raw syscall.RawConn
	in  transfer
	out transfer
}

// transfer is one direction's call: what is passed to the system and what came back.
type transfer struct {
	msg  unix.Msghdr
	iov  [maxParts]unix.Iovec
	wait bool // for the socket to take or have something
	n    int
	err  error
	call func(fd uintptr) bool
}

// newStream returns the stream over a TCP or Unix socket.
func newStream(conn net.Conn, userTimeout time.Duration) (stream, error) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return newPlain(conn), nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{raw: raw}
	if _, local := conn.(*net.UnixConn); local {
		err = unixsock.CheckUser(sc)
	} else {
		err = s.control(func(fd int) error {
			return errors.Join(
				unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds())),
				unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentSize),
			)
		})
	}
	s.in.call = func(fd uintptr) bool { return s.in.run(fd, unix.SYS_RECVMSG, 0) }
	s.out.call = func(fd uintptr) bool { return s.out.run(fd, unix.SYS_SENDMSG, unix.MSG_NOSIGNAL) }
	return s, err
}

func (s *socket) control(f func(fd int) error) error {
	var inner error
	if err := s.raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// run makes the call on fd and tells whether it is over: false lets the poller
// wait for the socket.
func (t *transfer) run(fd, trap uintptr, flags uintptr) bool {
	for {
		n, _, errno := unix.Syscall(trap, fd, uintptr(unsafe.Pointer(&t.msg)), flags|unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			t.n, t.err = int(n), nil
			return true
		case unix.EINTR:
		case unix.EAGAIN:
			t.n, t.err = 0, nil
			return !t.wait
		default:
			t.n, t.err = 0, errno
			return true
		}
	}
}

// set makes the parts of bufs, up to maxParts, those of the next call.
func (t *transfer) set(bufs ...[]byte) {
	n := 0
	for _, b := range bufs {
		if len(b) > 0 && n < maxParts {
			t.iov[n].Base = &b[0]
			t.iov[n].SetLen(len(b))
			n++
		}
	}
	t.msg.Iov = &t.iov[0]
	t.msg.SetIovlen(n)
}

// clear lets go of the buffers.
func (t *transfer) clear() {
	clear(t.iov[:t.msg.Iovlen])
}

// read reads bytes alone: the system closes open files that come with them.
func (s *socket) read(a, b []byte) (int, error) {
	t := &s.in
	t.set(a, b)
	t.wait, t.n = true, 0
	err := s.raw.Read(t.call)
	t.clear()
	if err == nil {
		err = s.wrap("recvmsg", t.err)
	}
	if err == nil && t.n == 0 {
		err = io.EOF
	}
	return t.n, err
}

func (s *socket) wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	return os.NewSyscallError(call, err)
}

func (s *socket) tryWrite(bufs [][]byte) (int, error) { return s.send(bufs, false) }

func (s *socket) inline() bool { return true }

func (s *socket) send(bufs [][]byte, wait bool) (int, error) {
	t := &s.out
	t.set(bufs...)
	t.wait, t.n = wait, 0
	err := s.raw.Write(t.call)
	t.clear()
	if err == nil {
		err = s.wrap("sendmsg", t.err)
	}
	return t.n, err
}

func (s *socket) writeAll(bufs [][]byte) error {
	for len(bufs) > 0 {
		n, err := s.send(bufs, true)
		if err != nil {
			return err
		}
		bufs = advance(bufs, n)
	}
	return nil
}
