package rundir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/internal/buildinfo"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestCreateNamesRunsByVerbAndTime(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"runs/train-20260102-030405-1", "runs/train-20260102-030405-2"} {
		dir, err := Create("train", "", now)
		if err != nil || dir.Path() != filepath.FromSlash(want) {
			t.Errorf("got %q, %v; want %s", dir.Path(), err, want)
		}
	}
}

func TestCreateTakesOnlyEmptyDirectories(t *testing.T) {
	base := t.TempDir()
	fresh := filepath.Join(base, "a", "b")
	dir, err := Create("train", fresh, now)
	if err != nil || dir.Path() != fresh {
		t.Fatalf("got %q, %v", dir.Path(), err)
	}
	if _, err := Create("train", fresh, now); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	if err := dir.WriteManifest(Manifest{Verb: "train"}); err != nil {
		t.Fatal(err)
	}
	refused(t, fresh, "holds an earlier run already")
	refused(t, base, "is not empty and holds no run")
	refused(t, filepath.Join(fresh, "run.json"), "not a directory")
}

func refused(t *testing.T, out, want string) {
	t.Helper()
	_, err := Create("train", out, now)
	var fault *Error
	if !errors.As(err, &fault) || !fault.BadInput() || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), out) != 1 {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestOpen(t *testing.T) {
	dir, err := Create("train", filepath.Join(t.TempDir(), "run"), now)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "model.millrace")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || err.Error() != "run directory "+file+": is no directory" {
		t.Errorf("of a file: %v", err)
	}
	if _, err := Open(dir.Path()); err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(dir.File("absent")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("got %v", err)
	}
	want := Manifest{Verb: "train", Args: []string{"--seed", "7"}, Settings: []byte(`{"epochs":3}`), Seed: 7, Started: now, Build: buildinfo.Read()}
	if err := dir.WriteManifest(want); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir.Path())
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Manifest()
	if err != nil || got.Verb != "train" || got.Seed != 7 || !got.Started.Equal(now) || got.Build != want.Build || len(got.Args) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestBusyWhileTheJournalIsLocked(t *testing.T) {
	dir, err := Create("train", filepath.Join(t.TempDir(), "run"), now)
	if err != nil {
		t.Fatal(err)
	}
	if dir.Busy() {
		t.Error("a run without a journal is busy")
	}
	journal, err := os.Create(dir.Events())
	if err != nil {
		t.Fatal(err)
	}
	if dir.Busy() {
		t.Error("a run whose journal nobody holds is busy")
	}
	if err := unix.Flock(int(journal.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if !dir.Busy() {
		t.Error("a run whose journal is held is not busy")
	}
	journal.Close()
	if dir.Busy() {
		t.Error("a run whose journal was let go is busy")
	}
}

func TestManifestNoticesDamage(t *testing.T) {
	dir, err := Create("train", filepath.Join(t.TempDir(), "run"), now)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteManifest(Manifest{Verb: "train", Seed: 1234}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dir.File(manifestName))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{
		bytes.Replace(text, []byte("1234"), []byte("1235"), 1),
		text[:len(text)/2],
		nil,
		[]byte("{}"),
		bytes.Repeat([]byte(" "), maxManifest+1),
	} {
		if err := os.WriteFile(dir.File(manifestName), bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := dir.Manifest(); err == nil || !strings.Contains(err.Error(), "run.json") {
			t.Errorf("%.30q was read as %+v, %v", bad, m, err)
		}
	}
	// White space is not damage: the file may be pretty-printed another way.
	if err := os.WriteFile(dir.File(manifestName), bytes.ReplaceAll(text, []byte("\n"), []byte("\n\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Manifest(); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add([]byte(`{"crc32c":"00000000","run":{"verb":"train"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := decodeManifest(text)
		if err != nil && m.Verb != "" {
			t.Errorf("%+v with error %v", m, err)
		}
	})
}
