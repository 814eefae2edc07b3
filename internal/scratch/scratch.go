// Package scratch makes directories for what lives only as long as the processes that use it, such as
// sockets, and removes those that were left behind by processes that were killed.
//
// A [Dir] stands below the system's directory for temporary files, so that the paths of sockets are
// short. It holds a file on which each process that uses it has a shared lock. The system takes the lock
// from a process that dies, however it dies: whoever gets the exclusive lock knows that nobody uses the
// directory any more, and removes it. [Make] does so with all of this user before it makes a new one, and
// [Dir.Leave] with its own.
//
// Directories of others and those without such a file are not touched.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	prefix   = "millrace-"
	lockName = "lock"
)

// Dir is a directory that this process uses.
type Dir struct {
	path string
	lock *os.File
}

// Make removes what dead processes have left and makes a new directory, which nobody but this user can
// enter.
func Make() (*Dir, error) {
	sweep(os.TempDir())
	for {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
		}
		file, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return nil, err
		}
		d, err := Use(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return d, err
		}
		// Somebody else's sweep took it for left behind before it was locked.
	}
}

// Use is for a further process that uses a directory. The error is fs.ErrNotExist where it is gone.
func Use(path string) (*Dir, error) {
	file, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := lock(file, unix.LOCK_SH); err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fs.ErrNotExist // it is being removed
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	held, err := file.Stat()
	there, gone := os.Stat(file.Name())
	if err = errors.Join(err, gone); err == nil && !os.SameFile(held, there) {
		err = fs.ErrNotExist
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Dir{path, file}, nil
}

// Path is the directory's.
func (d *Dir) Path() string { return d.path }

// Leave ends the use of the directory, and removes it unless another process uses it.
func (d *Dir) Leave() error {
	defer d.lock.Close()
	switch err := lock(d.lock, unix.LOCK_EX); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil
	case err != nil:
		return err
	}
	return os.RemoveAll(d.path)
}

// lock takes a lock if it can be had at once.
func lock(file *os.File, how int) error { return unix.Flock(int(file.Fd()), how|unix.LOCK_NB) }

// sweep removes what dead processes have left below a directory. What cannot be removed stays.
func sweep(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(root, e.Name())
		if !ours(path) {
			continue
		}
		if d, err := Use(path); err == nil {
			_ = d.Leave()
		}
	}
}

// ours tells whether a directory belongs to this user.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	return known && owner.Uid == uint32(os.Geteuid())
}
