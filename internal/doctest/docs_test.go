package doctest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blockTime bounds one block of a page.
const blockTime = 10 * time.Minute

// TestDocs runs every page of the manual.
func TestDocs(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	pages = append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
	var environment []string
	if !testing.Short() {
		environment = prepare(t, root)
	}
	for _, path := range pages {
		name, _ := filepath.Rel(root, path)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkQuotes(t, root, string(text))
			blocks, err := parse(string(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !testing.Short() { // running them takes the time that training takes
				runPage(t, root, blocks, environment)
			}
		})
	}
}

// checkQuotes compares the Go of a page with the files that it is quoted from.
func checkQuotes(t *testing.T, root, page string) {
	found, err := quotes(page)
	if err != nil {
		t.Error(err)
	}
	for _, q := range found {
		source, err := os.ReadFile(filepath.Join(root, q.file))
		if err != nil {
			t.Errorf("line %d: %v", q.line, err)
		} else if !q.in(string(source)) {
			t.Errorf("line %d: this does not stand in %s any more", q.line, q.file)
		}
	}
}

// runPage runs the blocks of a page in one directory, up to the first that
// fails.
func runPage(t *testing.T, root string, blocks []block, environment []string) {
	dir, page := t.TempDir(), t
	for _, b := range blocks {
		if b.skip != "" {
			continue
		}
		ok := t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) {
			where := dir
			if b.checkout {
				where = copyTree(t, root)
			}
			output, err := b.run(page, where, append(environment, "HOME="+dir))
			if err != nil {
				t.Fatalf("%v\n%s%s%s", err, b.text, output, notes(where))
			}
			if line, found := missing(output, b.output); found {
				t.Fatalf("%q is missing from the output:\n%s", line, output)
			}
		})
		if !ok {
			return
		}
	}
}

// notes are the ends of the text files that the blocks of a page leave where
// they ran, such as what a command in the background printed.
func notes(dir string) string {
	const longest = 2000
	files, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
	var text strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			fmt.Fprintf(&text, "%s ends with\n%s\n", filepath.Base(file), content[max(0, len(content)-longest):])
		}
	}
	return text.String()
}

// run runs a block. What that leaves in the background ends with the test.
func (b *block) run(t *testing.T, dir string, environment []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), blockTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", b.text)
	cmd.Dir, cmd.Env = dir, environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // the group may be gone
	}
	return string(output), err
}

// prepare builds the program and returns an environment that has it in the
// PATH, and the Go toolchain's own folders wherever HOME points.
func prepare(t *testing.T, root string) []string {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "millrace"), "./cmd/millrace")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	environment := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "LANG=C.UTF-8"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		environment = append(environment, name+"="+strings.TrimSpace(string(value)))
	}
	return environment
}

// copyTree copies what git tracks, or would, to a new directory.
func copyTree(t *testing.T, root string) string {
	dir := t.TempDir()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		copyFile(t, filepath.Join(root, name), filepath.Join(dir, name))
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		return // removed from the checkout but not yet from git
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}
