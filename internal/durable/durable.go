// Package durable writes files so that a crash at any moment leaves either the
// old content or the new one under the file's name, never a mixture.
//
// A file NAME is written as .NAME.PID.tmp in the same directory, synced, renamed
// over its name, and then the directory is synced, so that after a return
// without error the new content survives the loss of power. On an error the
// temporary file is removed and the old content stays. A file may have one
// writer at a time in each process: of several processes' contents the last
// stays. Errors name the file, not the temporary one.
package durable

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces the file at path with what write produces.
func WriteFile(path string, write func(w io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid())))
	if err != nil {
		return called(path, err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
			err = called(path, err)
		}
	}()
	if err := write(&target{file, path}); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// target is a temporary file whose errors name the file that it becomes.
type target struct {
	file *os.File
	path string
}

func (t *target) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	return n, called(t.path, err)
}

// called makes an error of the temporary file one of the file at path.
func called(path string, err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	}
	return err
}

// SyncDir makes the names in a directory durable: what was created, renamed or
// removed in it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
