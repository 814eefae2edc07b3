package group

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCloseInAStep ends workers in the midst of a step that they reduce in shared memory: nothing of it stays.
func TestCloseInAStep(t *testing.T) {
	c := newCrew(t, 2)
	c.passing = true
	ctx := c.deadline()
	hands := []*hand{c.start(c.founders[0]), c.start(c.founders[1])}
	for _, h := range hands {
		s, err := h.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for ; s.begun == nil; time.Sleep(time.Millisecond) { // until there is a plane
			s.begin()
		}
		if reducer := h.Status().Algorithm; reducer != "shared" {
			t.Skipf("the workers reduce by %s", reducer)
		}
	}
	for _, h := range hands {
		h.stop()
	}
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if what, _ := os.Readlink(f); strings.Contains(what, "memfd:millrace") {
			t.Errorf("%s is open still: %s", f, what)
		}
	}
}
