package fabric

import "os"

// maxFiles bounds the open files of one frame.
const maxFiles = 16

// FileHandler is a Handler that takes open files. The files are its own, to
// close. A connection whose handler is none closes when files come.
type FileHandler interface {
	Handler
	// Files takes a frame that SendFiles sent, in the order of control frames.
	Files(c Conn, h Header, files []*os.File) error
}

// SendFiles sends open files, at most 16, over a connection through a Unix
// socket on Linux, as a control frame without a body; h.Chunk is set to their
// number. They stay the caller's and must stay open until done is called. On
// any other connection the error is ErrFiles.
func SendFiles(c Conn, h Header, files []*os.File, done func(error)) error {
	sender, can := c.(interface {
		sendFiles(h Header, files []*os.File, done func(error)) error
	})
	if !can {
		return ErrFiles
	}
	return sender.sendFiles(h, files, done)
}
