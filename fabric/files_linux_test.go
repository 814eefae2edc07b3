package fabric

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fileTaker is a recorder that takes open files.
type fileTaker struct {
	*recorder
	came chan []*os.File
	n    chan Header
}

func newFileTaker() fileTaker {
	return fileTaker{newRecorder(), make(chan []*os.File, 100), make(chan Header, 100)}
}

func (f fileTaker) Files(_ Conn, h Header, files []*os.File) error {
	f.came <- files
	f.n <- h
	return nil
}

// temporary makes open files that hold their number.
func temporary(t *testing.T, n int) []*os.File {
	files := make([]*os.File, n)
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "f")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		f.WriteString(strings.Repeat("x", i+1))
		files[i] = f
	}
	return files
}

func TestFilesTravel(t *testing.T) {
	server, client := network(t, Options{}), network(t, Options{})
	at := newFileTaker()
	l, err := server.Listen("unix:"+filepath.Join(t.TempDir(), "s"), func(Conn) (Handler, error) { return at, nil })
	if err != nil {
		t.Fatal(err)
	}
	from := newRecorder()
	c := client.Dial(l.Addr(), from)
	files := temporary(t, maxFiles)
	done := make(chan error, 10)
	for i := range 8 { // among other frames
		c.Send(Control, Header{Step: uint64(i)}, make([]byte, 5000*i), nil)
		if err := SendFiles(c, Header{Step: uint64(i)}, files[:2*i+1], func(err error) { done <- err }); err != nil {
			t.Fatal(err)
		}
		c.Send(Bulk, Header{Step: uint64(i)}, make([]byte, 200_000), nil)
	}
	for i := range 8 {
		if err := get(t, done); err != nil {
			t.Error(err)
		}
		got := get(t, at.came)
		if h := get(t, at.n); h.Step != uint64(i) || int(h.Chunk) != len(got) || len(got) != 2*i+1 {
			t.Fatalf("%d files came with %+v", len(got), h)
		}
		for j, f := range got {
			text, err := io.ReadAll(io.NewSectionReader(f, 0, 100))
			if err != nil || len(text) != j+1 {
				t.Errorf("file %d of frame %d holds %q, %v", j, i, text, err)
			}
			f.Close()
		}
	}
	for range 16 {
		get(t, at.frames)
	}
	var limit *LimitError
	if err := SendFiles(c, Header{}, make([]*os.File, maxFiles+1), nil); !errors.As(err, &limit) {
		t.Errorf("17 files: %v", err)
	}
}

func TestFilesThatNobodyTakesAreClosed(t *testing.T) {
	files := temporary(t, 3)
	server, client := network(t, Options{}), network(t, Options{})
	at, from := newRecorder(), newRecorder()
	l, err := server.Listen("unix:"+filepath.Join(t.TempDir(), "s"), at.accept)
	if err != nil {
		t.Fatal(err)
	}
	before := openFiles()
	c := client.Dial(l.Addr(), from)
	if err := SendFiles(c, Header{}, files, nil); err != nil {
		t.Fatal(err)
	}
	var protocol *ProtocolError
	if err := get(t, at.closed); !errors.As(err, &protocol) {
		t.Errorf("closed with %v", err)
	}
	get(t, from.closed)
	settle(t, func() bool { return openFiles() <= before })
}

// TestFilesInTheMiddleAreBounded lets a stranger attach files to bytes that
// announce none.
func TestFilesInTheMiddleAreBounded(t *testing.T) {
	server, at := network(t, Options{}), newFileTaker()
	l, err := server.Listen("unix:"+filepath.Join(t.TempDir(), "s"), func(Conn) (Handler, error) { return at, nil })
	if err != nil {
		t.Fatal(err)
	}
	before := openFiles()
	s := intrude(t, l.Addr()).greet()
	sender, err := newStream(s.Conn, 0)
	if err != nil {
		t.Fatal(err)
	}
	files := temporary(t, maxFiles)
	for range 10 {
		if err := sender.writeFiles(s.frame(classControl, Header{}, nil), files); err != nil {
			break
		}
	}
	if err := get(t, at.closed); err == nil || !strings.Contains(err.Error(), "open files") {
		t.Errorf("closed with %v", err)
	}
	s.Close()
	settle(t, func() bool { return openFiles() <= before+len(files) })
}

func TestFilesNeedAUnixSocket(t *testing.T) {
	server, client := network(t, Options{}), network(t, Options{})
	at, from := newRecorder(), newRecorder()
	l, err := server.Listen("tcp:127.0.0.1:0", at.accept)
	if err != nil {
		t.Fatal(err)
	}
	c := client.Dial(l.Addr(), from)
	get(t, at.conns)
	if err := SendFiles(c, Header{}, temporary(t, 1), nil); !errors.Is(err, ErrFiles) {
		t.Errorf("got %v", err)
	}
}

func TestFilesOverAPlainSocket(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := WriteFiles(a, []byte("ab"), temporary(t, 2)...); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	n, files, err := ReadFiles(b, buf)
	if err != nil || string(buf[:n]) != "ab" || len(files) != 2 {
		t.Fatalf("%q and %d files came, %v", buf[:n], len(files), err)
	}
	for i, f := range files {
		if text, _ := io.ReadAll(io.NewSectionReader(f, 0, 100)); len(text) != i+1 {
			t.Errorf("file %d holds %q", i, text)
		}
		f.Close()
	}
	a.Write([]byte("c"))
	if n, files, err := ReadFiles(b, buf); n != 1 || len(files) != 0 || err != nil {
		t.Errorf("%d bytes, %d files, %v", n, len(files), err)
	}
	if err := WriteFiles(a, nil); err == nil {
		t.Error("files without data are sent")
	}
}
