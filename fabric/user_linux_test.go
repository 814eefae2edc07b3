package fabric

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"millrace.dev/internal/unixsock/unixsocktest"
)

// TestOtherUsersAreRefused lets another user connect to a Unix socket whose file does not keep it out: the kernel
// tells who it is.
func TestOtherUsersAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	server, at := network(t, Options{}), newRecorder()
	l, err := server.Listen("unix:"+path, at.accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	unixsocktest.Stranger(t, &net.UnixAddr{Name: path, Net: "unix"}, func(c *net.UnixConn) {
		s := &stranger{Conn: c, t: t}
		s.Write(append(rawHeader(classHello, Header{Epoch: 5, Aux: defaultWindow, Length: 1}, 0), 'x'))
		s.gone()
		settle(t, func() bool { return server.Refused() == 1 })
	})
	if len(at.conns) != 0 {
		t.Error("another user was let in")
	}
}
