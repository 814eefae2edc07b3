package unixsocktest

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Stranger connects to a Unix socket as a user who is neither this process's nor root, and passes the
// connection to check. Who may not become another user, as only root may, gets a line in the test's log instead.
func Stranger(t testing.TB, addr *net.UnixAddr, check func(*net.UnixConn)) {
	t.Helper()
	const nobody = 65534
	type result struct {
		c      *net.UnixConn
		err    error
		became syscall.Errno
	}
	dialed := make(chan result)
	go func() {
		// The thread, which alone becomes that user, ends with the goroutine.
		runtime.LockOSThread()
		var r result
		if _, _, r.became = unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); r.became == 0 {
			r.c, r.err = net.DialUnix(addr.Net, nil, addr)
		}
		dialed <- r
	}()
	r := <-dialed
	if r.became != 0 {
		t.Log("no other user tried to connect:", os.NewSyscallError("setresuid", r.became))
		return
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	defer r.c.Close()
	check(r.c)
}
