package unixsock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"millrace.dev/internal/unixsock/unixsocktest"
)

func TestUsers(t *testing.T) {
	for _, c := range []struct {
		theirs, ours int
		allowed      bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1001, 1000, false}, {1000, 0, false}} {
		if err := check(c.theirs, c.ours); (err == nil) != c.allowed || err != nil && !errors.Is(err, os.ErrPermission) {
			t.Errorf("user %d at a socket of user %d: %v", c.theirs, c.ours, err)
		}
	}
}

// TestUserOfAConnection looks at real connections: from this user's process and from a stranger.
func TestUserOfAConnection(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("@millrace-unixsock-%d", os.Getpid()), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().(*net.UnixAddr)
	accepted := func() error {
		c, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return CheckUser(c)
	}
	c, err := net.DialUnix("unix", nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := accepted(); err != nil {
		t.Error("this user:", err)
	}
	unixsocktest.Stranger(t, addr, func(*net.UnixConn) {
		if err := accepted(); !errors.Is(err, os.ErrPermission) {
			t.Error("another user:", err)
		}
	})
}
