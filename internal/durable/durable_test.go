package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights")
	for _, text := range []string{"first", "second, longer", ""} {
		if err := WriteFile(path, put(text)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if names := list(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestWriteFileKeepsOldContentOnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights")
	if err := WriteFile(path, put("good")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := WriteFile(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("got error %v, want %v", err, full)
	}
	if got := read(t, path); got != "good" {
		t.Errorf("got %q, want the old content", got)
	}
	if names := list(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// TestWriteFileBesideOthers writes a file of which this process and another one have left a part under a temporary name.
func TestWriteFileBesideOthers(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, ".weights.1.tmp")
	for _, path := range []string{other, filepath.Join(dir, fmt.Sprintf(".weights.%d.tmp", os.Getpid()))} {
		if err := os.WriteFile(path, []byte("torn by a crash, and longer"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(filepath.Join(dir, "weights"), put("whole")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "weights")); got != "whole" {
		t.Errorf("got %q", got)
	}
	if got := list(t, dir); !slices.Equal(got, []string{filepath.Base(other), "weights"}) {
		t.Errorf("there are %v", got)
	}
}

func TestWriteFileNamesMissingDirectory(t *testing.T) {
	err := WriteFile(filepath.Join(t.TempDir(), "none", "weights"), put("x"))
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("got %v", err)
	}
}

func put(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
