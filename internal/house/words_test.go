package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// private are texts that mean something only to their author: the folders of
// one person's machine, and notes of work that is not done.
var private = []*regexp.Regexp{
	regexp.MustCompile(`(^|[^\w.~/])/(home|root|work|Users)/`),
	regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`),
}

// unread are files that people do not write.
var unread = regexp.MustCompile(`(^|/)(go\.sum|testdata/fuzz/.*)$`)

func TestNoPrivateWords(t *testing.T) {
	dir := root(t)
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	if len(files) < 10 {
		t.Fatalf("git tracks only %d files", len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || unread.MatchString(name) || bytes.IndexByte(text, 0) >= 0 {
			continue // removed from the checkout, not for reading, or binary
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, word := range findPrivate(line) {
				t.Errorf("%s:%d: %q", name, i+1, word)
			}
		}
	}
}

func findPrivate(line string) (found []string) {
	for _, pattern := range private {
		if word := pattern.FindString(line); word != "" {
			found = append(found, word)
		}
	}
	return found
}

func TestFindPrivate(t *testing.T) {
	for line, want := range map[string]int{
		"see /" + "home/ann/notes":             1,
		"path = \"/" + "work/x\"":              1,
		"https://example.org/home/":            0,
		"./root/a or pkg/work/b":               0,
		"// TO" + "DO: later":                  1,
		"TO" + "DOS is a word of another kind": 0,
	} {
		if got := findPrivate(line); len(got) != want {
			t.Errorf("%q: found %q", line, got)
		}
	}
}
