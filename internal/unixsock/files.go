package unixsock

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Files returns the open files of a control message, which is empty where none came. They are the caller's
// to close; on an error none stays open.
func Files(control []byte) ([]int, error) {
	if len(control) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("a control message of %d bytes: %w", len(control), err)
	}
	var all []int
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			CloseFiles(all)
			return nil, fmt.Errorf("a control message that carries no files: %w", err)
		}
		all = append(all, fds...)
	}
	return all, nil
}

// CloseFiles closes files that have nothing to lose by it, such as memory and the ends of pipes.
func CloseFiles(fds []int) {
	for _, fd := range fds {
		unix.Close(fd) //nolint:errcheck // fails for what was written through it only
	}
}
