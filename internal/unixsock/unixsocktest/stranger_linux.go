package unixsocktest

import (
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Stranger connects to a Unix socket as a user who is neither this process's nor root, and passes the
// connection to check. Only root can do so: for others it does nothing.
func Stranger(t testing.TB, addr *net.UnixAddr, check func(*net.UnixConn)) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	type result struct {
		c   *net.UnixConn
		err error
	}
	dialed := make(chan result)
	go func() {
		c, err := dialAs(65534, addr)
		dialed <- result{c, err}
	}()
	r := <-dialed
	if r.err != nil {
		t.Fatal(r.err)
	}
	defer r.c.Close()
	check(r.c)
}

// dialAs connects as a user. The thread, which alone becomes that user, ends with the goroutine.
func dialAs(user uintptr, addr *net.UnixAddr) (*net.UnixConn, error) {
	runtime.LockOSThread()
	if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, user, user, user); err != 0 {
		return nil, os.NewSyscallError("setresuid", err)
	}
	return net.DialUnix(addr.Net, nil, addr)
}
