package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace.dev/cluster/clustertest"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	clustertest.Main()
	if os.Getenv(patientVariable) != "" {
		verbs = append(verbs, patientCommand)
		main()
	}
	if slices.Contains(os.Args, "-test.fuzzworker") { // needs no program
		os.Exit(m.Run())
	}
	os.Exit(buildAndTest(m))
}

func buildAndTest(m *testing.M) int {
	dir, err := os.MkdirTemp("", "millrace-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "millrace")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// outcome is what one run of the binary left.
type outcome struct {
	code           int
	stdout, stderr string
}

// millrace runs the binary in dir with the arguments.
func millrace(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("millrace %v: %v", args, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func TestWrongUsage(t *testing.T) {
	for line, want := range map[string]string{
		"versoin":               `unknown command "versoin" for "millrace"; did you mean "version"?`,
		"--frobnicate":          "unknown flag: --frobnicate",
		"version --frobnicate":  "unknown flag: --frobnicate",
		"version now":           `millrace version: unexpected argument "now"`,
		"why":                   "millrace why: RUN is missing",
		"why a b":               `millrace why: unexpected argument "b"`,
		"version --json=maybe":  `invalid argument "maybe" for "--json" flag`,
		"completion bsh":        `unknown command "bsh" for "millrace completion"`,
		"help versoin":          `unknown command "versoin" for "millrace"; did you mean "version"?`,
		"completion bash extra": `millrace completion bash`,
		"data info":             `NAME is missing (see millrace data info --help)`,
		"train --epochs=x":      `(see millrace train --help)`,
	} {
		t.Run(line, func(t *testing.T) {
			got := millrace(t, "", strings.Fields(line)...)
			if got.code != exitUsage || got.stdout != "" {
				t.Errorf("exit code %d, standard output %q", got.code, got.stdout)
			}
			if !strings.HasPrefix(got.stderr, "millrace: ") || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("got %q, want one line with %q", got.stderr, want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, line := range []string{"", "--help", "help", "why --help", "help why", "completion"} {
		got := millrace(t, "", strings.Fields(line)...)
		if got.code != exitDone || got.stderr != "" || !strings.Contains(got.stdout, "Usage:") {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	got, verb := millrace(t, "", "--version"), millrace(t, "", "version")
	if line := strings.TrimSuffix(got.stdout, "\n"); got.code != exitDone || !strings.HasPrefix(verb.stdout, line+" (") {
		t.Errorf("%+v, the verb says %q", got, verb.stdout)
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	root := rootCommand(newConsole(os.Stdout, os.Stderr))
	for _, cmd := range root.Commands() {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short description %q", cmd.CommandPath(), cmd.Short)
		}
		got := millrace(t, "", cmd.Name(), "--help")
		if got.code != exitDone || !strings.Contains(got.stdout, "--json") {
			t.Errorf("%s --help: %+v", cmd.Name(), got)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := millrace(t, "", "completion", shell); got.code != exitDone || len(got.stdout) < 1000 {
			t.Errorf("%s: code %d, %d bytes, %s", shell, got.code, len(got.stdout), got.stderr)
		}
	}
	if got := millrace(t, "", "__complete", "doc"); !strings.HasPrefix(got.stdout, "doctor\t") {
		t.Errorf("doc completes to %q", got.stdout)
	}
}

// decode reads JSON that a verb printed.
func decode[T any](t *testing.T, o outcome) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &value); err != nil {
		t.Fatalf("%v: %q (standard error %q)", err, o.stdout, o.stderr)
	}
	return value
}
