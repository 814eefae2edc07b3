package doctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is one to a file, to a heading in it, or to a heading of the same page.
var link = regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^) ]*))?(?: "[^"]*")?\)`)

var root = filepath.Join("..", "..")

// pages are all Markdown files of the source tree that people write.
func pages(t *testing.T) (paths []string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--", "*.md", ":!*testdata*", ":!bench/results")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		paths = append(paths, filepath.Join(root, name))
	}
	if len(paths) < 10 {
		t.Fatalf("only %d pages", len(paths))
	}
	return paths
}

// TestLinks follows the links between the pages and into the source tree.
func TestLinks(t *testing.T) {
	for _, path := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, path), -1) {
			target := path
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(path), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, found[1])
			} else if found[2] != "" && !hasHeading(read(t, target), found[2]) {
				t.Errorf("%s links to the heading #%s of %s, which does not exist", path, found[2], target)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unsaid is what the name of a heading in an address lacks.
var unsaid = regexp.MustCompile(`[^\pL\pN _-]`)

// hasHeading tells whether a page has a heading of that name.
func hasHeading(page, name string) bool {
	for line := range strings.Lines(page) {
		title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if is && line[0] == '#' && strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-") == name {
			return true
		}
	}
	return false
}

// TestIndex wants every page of the manual in docs/README.md.
func TestIndex(t *testing.T) {
	index := read(t, filepath.Join(root, "docs", "README.md"))
	manual, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(manual) < 2 {
		t.Fatalf("%d pages, error %v", len(manual), err)
	}
	for _, path := range manual {
		if name := filepath.Base(path); name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/%s is not in the index, docs/README.md", name)
		}
	}
}
