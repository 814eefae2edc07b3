package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sample is a module with everything that can become of a test.
var sample = map[string]string{
	"go.mod": "module sample\n\ngo 1.26\n",
	"good/good_test.go": `package good
import "testing"
func TestGood(t *testing.T) {}
func TestParent(t *testing.T) { t.Run("a", func(*testing.T) {}); t.Run("b/c", func(*testing.T) {}) }
func TestSkipped(t *testing.T) { t.Skip("no such device") }
`,
	"bad/bad_test.go": `package bad
import "testing"
func TestGood(t *testing.T) {}
func TestBad(t *testing.T) { t.Error("the sum is wrong") }
func TestParent(t *testing.T) { t.Run("good", func(*testing.T) {}); t.Run("bad", func(t *testing.T) { t.Fatal("inside") }) }
func TestAfterSubtests(t *testing.T) { t.Run("good", func(*testing.T) {}); t.Error("outside") }
`,
	"panics/panics_test.go": `package panics
import "testing"
func TestPanics(t *testing.T) { panic("out of range") }
`,
	"broken/broken_test.go": `package broken
import "testing"
func TestBroken(t *testing.T) { undefined() }
`,
	"exits/exits_test.go": `package exits
import ("os"; "testing")
func TestMain(m *testing.M) { os.Stdout.WriteString("no room\n"); os.Exit(7) }
func TestNever(t *testing.T) {}
`,
}

func writeSample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sample {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goTest(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir = dir
	return cmd
}

func TestCountsTests(t *testing.T) {
	got := tests("all", goTest(writeSample(t), "./..."))
	if got.Passed != 3+3 {
		t.Errorf("%d passed, want 6", got.Passed)
	}
	want := map[string]string{
		"sample/bad.TestBad":           "the sum is wrong",
		"sample/bad.TestParent/bad":    "inside",
		"sample/bad.TestAfterSubtests": "outside",
		"sample/panics.TestPanics":     "out of range",
		"sample/broken":                "undefined: undefined",
		"sample/exits":                 "no room",
	}
	for _, f := range got.Failed {
		if text, ok := want[f.Name]; !ok || !strings.Contains(f.Output, text) {
			t.Errorf("failure %s: %s", f.Name, f.Output)
		}
		delete(want, f.Name)
	}
	for name := range want {
		t.Errorf("%s did not fail", name)
	}
	if len(got.Skipped) != 1 || !strings.Contains(got.Skipped[0], "sample/good.TestSkipped: ") || !strings.Contains(got.Skipped[0], "no such device") {
		t.Errorf("skipped %q", got.Skipped)
	}
}

func TestCommandThatDoesNotComeToItsTests(t *testing.T) {
	got := tests("all", goTest(t.TempDir(), "./..."))
	if len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Output, "main module") {
		t.Errorf("%+v", got)
	}
	got = tests("all", exec.Command("/no/such/command"))
	if len(got.Failed) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestReport(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	if err := run([]string{"check", log, "fine", "true"}, &b); err != nil {
		t.Fatal(err)
	}
	var sum strings.Builder
	if err := run([]string{"report", log}, &sum); err != nil || sum.String() != "1 passed, 0 failed\n" {
		t.Errorf("%v, %q", err, sum.String())
	}
	if err := run([]string{"check", log, "format", "sh", "-c", "echo main.go; exit 3"}, &b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "FAIL sh -c echo main.go; exit 3\n     main.go\n") {
		t.Errorf("the failure is not shown at once: %q", b.String())
	}
	sum.Reset()
	err := run([]string{"report", log}, &sum)
	if err == nil || !strings.HasSuffix(sum.String(), "     main.go\n     exit status 3\n1 passed, 1 failed\n") {
		t.Errorf("%v, %q", err, sum.String())
	}
}

func TestReportOfNothingFails(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := run([]string{"report", log}, &b); err == nil || b.String() != "0 passed, 0 failed\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

func TestTimeoutNamesTheTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module hangs\n\ngo 1.26\n",
		"hang_test.go": "package hangs\nimport (\"testing\"; \"time\")\nfunc TestHangs(*testing.T) { time.Sleep(time.Hour) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := tests("all", goTest(dir, "-timeout", "100ms", "."))
	if len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Name+got.Failed[0].Output, "TestHangs") || !strings.Contains(got.Failed[0].Output, "test timed out") {
		t.Errorf("%+v", got)
	}
}

func TestSlowPackagesAreNamed(t *testing.T) {
	got, err := countEvents(strings.NewReader(`{"Action":"pass","Package":"quick","Elapsed":1.5}
{"Action":"pass","Package":"long","Test":"TestLong","Elapsed":20}
{"Action":"pass","Package":"long","Elapsed":20.4}
`))
	if err != nil || got.Passed != 1 || len(got.Slow) != 1 || got.Slow[0] != "long took 20 s" {
		t.Errorf("%+v, %v", got, err)
	}
}
