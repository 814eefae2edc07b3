package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func make1(t *testing.T) *Dir {
	t.Helper()
	d, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSweep: what a dead process has left is removed by the next Make, also what it has put there; what
// is in use, or is none of our directories, stays.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead, alive := make1(t), make1(t)
	if err := os.MkdirAll(filepath.Join(dead.Path(), "membership", "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(os.TempDir(), prefix+"other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	helper, err := Use(dead.Path())
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the system does when its process dies
	first := make1(t)
	if !exists(t, dead.Path()) {
		t.Error("a directory is removed that another process still uses")
	}
	helper.lock.Close()
	second := make1(t)
	for path, want := range map[string]bool{dead.Path(): false, alive.Path(): true, other: true, first.Path(): true, second.Path(): true} {
		if exists(t, path) != want {
			t.Errorf("%s is there: %t", path, !want)
		}
	}
	if _, err := Use(dead.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is gone can be used: %v", err)
	}
}

// TestLeave: the last one that leaves removes the directory.
func TestLeave(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d := make1(t)
	other, err := Use(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Leave(); err != nil || !exists(t, d.Path()) {
		t.Errorf("it is removed while it is used: %v", err)
	}
	if err := other.Leave(); err != nil || exists(t, d.Path()) {
		t.Errorf("nobody uses it, and it is still there: %v", err)
	}
}

// TestAtOnce: those that make directories at the same time do not take each other's.
func TestAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 30 {
				d, err := Make()
				if err != nil {
					t.Error(err)
					return
				}
				if !exists(t, d.Path()) {
					t.Error("a directory in use was removed")
				}
				if err := d.Leave(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
