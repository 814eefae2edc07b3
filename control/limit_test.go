package control

import (
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// limitFileSize limits the size of every file that this process writes, until
// the test ends or lift is called.
func limitFileSize(t *testing.T, bytes uint64) (lift func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := unix.Rlimit{Cur: bytes, Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	lift = func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	}
	t.Cleanup(lift)
	return lift
}
