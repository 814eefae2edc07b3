package unixsock

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFiles(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFiles(pair[:])
	sent, err := os.Create(t.TempDir() + "/sent")
	if err != nil {
		t.Fatal(err)
	}
	defer sent.Close()
	if err := unix.Sendmsg(pair[0], []byte{1}, unix.UnixRights(int(sent.Fd()), int(sent.Fd())), nil, 0); err != nil {
		t.Fatal(err)
	}
	var message [1]byte
	control := make([]byte, 256)
	_, n, _, _, err := unix.Recvmsg(pair[1], message[:], control, 0)
	if err != nil {
		t.Fatal(err)
	}
	fds, err := Files(control[:n])
	if err != nil || len(fds) != 2 {
		t.Fatalf("files %v, error %v", fds, err)
	}
	want, err := sent.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "came")
		if got, err := f.Stat(); err != nil || !os.SameFile(got, want) {
			t.Errorf("file %d is not the one that was sent: %v", fd, err)
		}
		f.Close()
	}
}

// TestNoFileStaysOpen: a message of which only the first part can be read leaves no file open.
func TestNoFileStaysOpen(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/sent")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	other := unix.UnixRights(0)
	other[unix.SizeofCmsghdr-4]++ // of a type that carries no files
	if fds, err := Files(append(unix.UnixRights(fd), other...)); err == nil {
		t.Fatalf("files %v of a message that has more than files", fds)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
		t.Error("the file of a refused message is still open")
	}
}

func TestNoFiles(t *testing.T) {
	if fds, err := Files(nil); fds != nil || err != nil {
		t.Errorf("files %v, error %v", fds, err)
	}
	short := unix.UnixRights(0)
	if fds, err := Files(short[:len(short)-5]); err == nil {
		t.Errorf("files %v of a message that ends early", fds)
	}
}
