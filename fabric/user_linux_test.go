package fabric

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestOtherUsersAreRefused lets another user connect to a Unix socket whose file does not keep it out: the kernel
// tells who it is. Only root can be another user.
func TestOtherUsersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this needs root")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	server, at := network(t, Options{}), newRecorder()
	l, err := server.Listen("unix:"+filepath.Join(dir, "s"), at.accept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "s"), 0o666); err != nil {
		t.Fatal(err)
	}
	var c net.Conn
	as(65534, func() { c, err = net.Dial("unix", filepath.Join(dir, "s")) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := &stranger{Conn: c, t: t}
	s.Write(append(rawHeader(classHello, Header{Epoch: 5, Aux: defaultWindow, Length: 1}, 0), 'x'))
	s.gone()
	settle(t, func() bool { return server.Refused() == 1 })
	if len(at.conns) != 0 {
		t.Error("another user was let in")
	}
	l.Close()
}

// as does something as another user.
func as(user int, do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(user int) {
		const same = ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uintptr(user), same); errno != 0 {
			panic(errno) // this thread is of no more use
		}
	}
	become(user)
	defer become(0)
	do()
}
