package fabric

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFilesAreNotTaken lets a stranger attach open files to a frame: the frame comes, and they are closed.
func TestFilesAreNotTaken(t *testing.T) {
	server, r := network(t, Options{}), newRecorder()
	s := intrude(t, listen(t, server, r)).greet()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s.Write(s.frame(classControl, Header{}, nil))
	get(t, r.frames) // the connection stands
	before := openFiles()
	for range 10 {
		rights := unix.UnixRights(int(file.Fd()), int(file.Fd()))
		if _, _, err := s.Conn.(*net.UnixConn).WriteMsgUnix(s.frame(classControl, Header{}, nil), rights, nil); err != nil {
			t.Fatal(err)
		}
		get(t, r.frames)
	}
	if now := openFiles(); now > before {
		t.Errorf("%d files are open, %d were before", now, before)
	}
}
