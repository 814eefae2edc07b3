package fabric

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestTimeLimitOfTheSystem: on both ends of a TCP connection the system gives up a peer whose machine is gone when
// the network says so.
func TestTimeLimitOfTheSystem(t *testing.T) {
	limit := 3 * time.Second
	server, client := network(t, Options{Name: "server", UserTimeout: limit}), network(t, Options{Name: "client", UserTimeout: limit})
	at, from := newRecorder(), newRecorder()
	l, err := server.Listen("tcp:127.0.0.1:0", at.accept)
	if err != nil {
		t.Fatal(err)
	}
	dialed := client.Dial(l.Addr(), from)
	accepted := get(t, at.conns)
	settle(t, func() bool { return dialed.Peer() != "" })
	for name, c := range map[string]Conn{"dialed": dialed, "accepted": accepted} {
		raw, err := c.(*conn).raw.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var set int
		if err := (&socket{raw: raw}).control(func(fd int) (err error) {
			set, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(set) * time.Millisecond; got != limit {
			t.Errorf("%s: the limit is %v, not %v", name, got, limit)
		}
	}
}
