package doctest

import (
	"strings"
	"testing"
)

const page = "# Title\n\n" +
	"```sh\nmillrace version\necho done\n```\n\n" +
	"```output\nmillrace …\ndone\n```\n\n" +
	"```go a/b.go\nif x {\n\treturn\n}\n```\n\n" +
	"```sh checkout\nls\n```\n" +
	"```sh no-run it downloads 30 MB\nmillrace data fetch mnist\n```\n" +
	"````text\n```sh\nnot a block of its own\n```\n````\n" +
	"Some text.\n\n```output\nbelongs to nothing\n```\n"

func TestParse(t *testing.T) {
	blocks, err := parse(page)
	if err != nil || len(blocks) != 3 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	first := blocks[0]
	if first.line != 4 || first.text != "millrace version\necho done\n" || strings.Join(first.output, "|") != "millrace …|done" || first.checkout {
		t.Errorf("%+v", first)
	}
	if !blocks[1].checkout || blocks[1].output != nil {
		t.Errorf("%+v", blocks[1])
	}
	if blocks[2].skip != "it downloads 30 MB" {
		t.Errorf("%+v", blocks[2])
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"```sh no-run\nls\n```\n":       "line 1: no-run needs a reason",
		"\n```sh fast\nls\n```\n":       `line 2: unknown option "fast"`,
		"```bash\nls\n```\n":            "write sh",
		"```console\n$ ls\n```\n":       "write sh",
		"text\n```sh\nnever ends\n``\n": "line 2: the code block does not end",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		line, pattern string
		want          bool
	}{
		{"test accuracy 87.3 %", "test accuracy 87.3 %", true},
		{"  test accuracy 87.3 %  ", "test accuracy … %", true},
		{"test accuracy 87.3", "test accuracy … %", false},
		{"a b c d", "a … c …", true},
		{"a b c d", "a … e …", false},
		{"anything", "…", true},
		{"ab", "ab…b", false},
		{"abc", "ab", false},
	} {
		if got := matches(c.line, c.pattern); got != c.want {
			t.Errorf("%q against %q: %v", c.line, c.pattern, got)
		}
	}
}

func TestMissing(t *testing.T) {
	output := "one\ntwo\nthree\n"
	if line, found := missing(output, []string{"one", "", "three"}); found {
		t.Errorf("missing %q", line)
	}
	if line, found := missing(output, []string{"three", "one"}); !found || line != "one" {
		t.Errorf("missing %q, %v: the order counts", line, found)
	}
}

func TestQuotes(t *testing.T) {
	found, err := quotes(page)
	if err != nil || len(found) != 1 || found[0].file != "a/b.go" {
		t.Fatalf("%+v, %v", found, err)
	}
	if !found[0].in("func f() {\n\tif x {\n\t\treturn\n\t}\n}\n") {
		t.Error("not found though it stands there")
	}
	for _, other := range []string{"if x {\n\treturn 1\n}\n", "if x {\n}\n", "\telse if x {\nreturn\n}\n", ""} {
		if found[0].in(other) {
			t.Errorf("found in %q", other)
		}
	}
	if _, err := quotes("```go\nx := 1\n```\n"); err == nil {
		t.Error("a block of Go without a file was taken")
	}
}
