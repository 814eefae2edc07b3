package house

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath   string
	Dir          string
	Doc          string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func packages(t *testing.T) (all []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestImportsPointDown(t *testing.T) {
	uses := map[string][]string{}
	for _, p := range packages(t) {
		from, _ := folder(p.ImportPath)
		if _, known := floors[from]; !known && from != "" {
			t.Errorf("%s: the folder %q has no place in the house: give it one in internal/house/imports.go and ARCHITECTURE.md", p.ImportPath, from)
		}
		for _, to := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if err := checkImport(p.ImportPath, to); err != nil {
				t.Error(err)
			}
		}
		for _, to := range p.Imports {
			if other, ours := folder(to); ours && other != from {
				uses[from] = append(uses[from], other)
			}
		}
	}
	if found := cycle(uses); found != nil {
		t.Errorf("folders import each other in a cycle: %s", strings.Join(found, " → "))
	}
}

func TestCheckImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"control", "os", true},
		{"control", "millrace.dev/internal/durable", true},
		{"fabric", "millrace.dev/mem", true},
		{"learn/train", "millrace.dev/learn/nn", true},
		{"learn/train", "millrace.dev/control", true},
		{"group/internal/vec", "millrace.dev/internal/cpu", true},
		{"cmd/millrace", "millrace.dev/field", true},
		{"control", "millrace.dev/learn", false},
		{"internal/host", "millrace.dev/control", false},
		{"feed", "millrace.dev/learn/data", false},
		{"learn", "millrace.dev/cmd/millrace", false},
		{"learn", "millrace.dev/bench/harness", false},
		{"cmd/millrace", "millrace.dev/bench/harness", false},
		{"attic", "millrace.dev/control", false},
	} {
		if err := checkImport(module+"/"+c.from, c.to); (err == nil) != c.ok {
			t.Errorf("%s imports %s: %v", c.from, c.to, err)
		}
	}
}

func TestCycle(t *testing.T) {
	if found := cycle(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": nil}); found != nil {
		t.Errorf("found %v where there is none", found)
	}
	if found := cycle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"d", "b"}}); len(found) != 3 || found[0] != found[2] {
		t.Errorf("found %v", found)
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.Doc) < 20 {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// TestArchitectureNamesEveryFolder keeps the page beside the code.
func TestArchitectureNamesEveryFolder(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		if name, _ := folder(p.ImportPath); !strings.Contains(string(page), "| `"+name+"/") {
			t.Errorf("ARCHITECTURE.md has no line for %s/", name)
		}
	}
}
