package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/unixsock"
)

// writeTimeout is for a client that does not read what it asked for.
const writeTimeout = 10 * time.Second

// conn carries messages and files of memory. One goroutine reads, another writes.
type conn struct {
	*net.UnixConn
	packet []byte
	rights []byte
}

func newConn(c *net.UnixConn) *conn {
	return &conn{c, make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*4))}
}

// read returns the next message, and the file that came along, if one did.
func (c *conn) read() (*request, *os.File, error) {
	n, rights, flags, _, err := c.ReadMsgUnix(c.packet, c.rights)
	if err != nil {
		return nil, nil, err
	}
	file, err := oneFile(c.rights[:rights])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = broken("a message longer than %d bytes, or with several files", maxMessage)
	}
	var r *request
	if err == nil {
		r, err = parse(c.packet[:n])
	}
	if err != nil {
		closeFile(file)
		return nil, nil, err
	}
	return r, file, nil
}

// oneFile takes the file of a control message; more than one are closed.
func oneFile(rights []byte) (*os.File, error) {
	fds, err := unixsock.Files(rights)
	switch {
	case err != nil:
		return nil, broken("%v", err)
	case len(fds) == 0:
		return nil, nil
	case len(fds) > 1:
		unixsock.CloseFiles(fds)
		return nil, broken("%d files with a message", len(fds))
	}
	return os.NewFile(uintptr(fds[0]), "memory of the client"), nil
}

// write sends a message, and a file along with it unless that is nil.
func (c *conn) write(a *answer, file *os.File) error {
	packet, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if len(packet) > maxMessage {
		return fmt.Errorf("a message of %d bytes to the client: at most %d are possible", len(packet), maxMessage)
	}
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, _, err = c.WriteMsgUnix(packet, rights, nil)
	return err
}

func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close() // memory has nothing to lose
	}
}

// ended says whether an error of read or write is the client's end.
func ended(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
