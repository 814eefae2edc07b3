package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinks follows the links between the pages and into the source tree, and
// wants every page of the manual in its index.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	top, _ := filepath.Glob(filepath.Join(root, "*.md"))
	manual, _ := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if len(top) < 4 || len(manual) < 2 {
		t.Fatalf("only %d and %d pages", len(top), len(manual))
	}
	indexed := map[string]bool{"README.md": true}
	for _, path := range append(top, manual...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join(filepath.Dir(path), found[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", strings.TrimPrefix(path, root), found[1])
			}
			if filepath.Base(filepath.Dir(path)) == "docs" && filepath.Base(path) == "README.md" {
				indexed[found[1]] = true
			}
		}
	}
	for _, path := range manual {
		if !indexed[filepath.Base(path)] {
			t.Errorf("docs/%s is not in the index, docs/README.md", filepath.Base(path))
		}
	}
}
