package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSync checks that a buffered signal is in the file after Sync.
func TestSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	now := time.Unix(0, 0)
	for i, name := range []string{"first", "second"} { // the first one of all is written at once
		if err := j.append(Record{Signal: Signal{Name: name, Time: now, Point: uint64(i)}}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"second"`) {
		t.Errorf("%v, %q", err, text)
	}
	if err := NewJournal().Sync(); err != nil {
		t.Errorf("a journal in memory: %v", err)
	}
}
