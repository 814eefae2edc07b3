package agent

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"millrace.dev/group"
	"millrace.dev/internal/unixsock/unixsocktest"
)

// TestOtherUsersAreRefused: a socket whose file anybody may open still serves its user alone.
func TestOtherUsersAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	addr := &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixpacket"}
	l, err := net.ListenUnix(addr.Net, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(addr.Name, 0o666); err != nil {
		t.Fatal(err)
	}
	unixsocktest.Stranger(t, addr, func(c *net.UnixConn) {
		if _, err := c.Write([]byte("{}")); err != nil { // no message: it would end the session as well
			t.Fatal(err)
		}
		ours, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		if err := NewSession(ours, group.Config{}).Run(t.Context()); !errors.Is(err, os.ErrPermission) {
			t.Errorf("the session ends with %v", err)
		}
	})
}
