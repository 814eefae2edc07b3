package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// check runs a command as one test.
func check(stage string, cmd *exec.Cmd) tally {
	t := tally{Stage: stage}
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Failed = append(t.Failed, failure{strings.Join(cmd.Args, " "), string(output) + err.Error()})
	} else {
		t.Passed = 1
	}
	return t
}

// tests runs go test -json and counts its tests.
func tests(stage string, cmd *exec.Cmd) tally {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return tally{Stage: stage, Failed: []failure{{strings.Join(cmd.Args, " "), err.Error()}}}
	}
	t, readError := countEvents(stdout)
	t.Stage = stage
	io.Copy(io.Discard, stdout)
	err = errors.Join(readError, cmd.Wait())
	// A command that failed without a failed test did not come to its tests.
	if err != nil && len(t.Failed) == 0 {
		t.Failed = append(t.Failed, failure{strings.Join(cmd.Args, " "), stderr.String() + err.Error()})
	}
	return t
}

// slow is how long the tests of a package may take without being named.
const slow = 15 * time.Second

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output
	Test        string
	Output      string
	FailedBuild string
	Elapsed     float64 // seconds
}

// counter gathers the output of what is still running.
type counter struct {
	tally
	output  map[string]*strings.Builder // by package and test
	parents map[string]bool             // tests that have subtests
	broken  map[string]bool             // packages and tests in which a test failed
}

// countEvents reads a stream of events. A test with subtests stands for them
// and is counted only if it fails by itself; a package is counted only if it
// fails without a failed test, as when it does not build.
func countEvents(r io.Reader) (tally, error) {
	c := counter{output: map[string]*strings.Builder{}, parents: map[string]bool{}, broken: map[string]bool{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			c.read(line)
		}
		if errors.Is(err, io.EOF) {
			return c.tally, nil
		}
		if err != nil {
			return c.tally, err
		}
	}
}

func (c *counter) read(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		e = event{Action: "output", Output: string(line)}
	}
	name := fullName(e.Package, e.Test)
	if e.Test == "" && e.Elapsed >= slow.Seconds() {
		c.Slow = append(c.Slow, fmt.Sprintf("%s took %.0f s", e.Package, e.Elapsed))
	}
	switch e.Action {
	case "run":
		c.parents[fullName(e.Package, parent(e.Test))] = true
	case "output":
		c.write(name, e.Output)
	case "build-output":
		c.write(e.ImportPath, e.Output)
	case "pass":
		if e.Test != "" && !c.parents[name] {
			c.Passed++
		}
		delete(c.output, name)
	case "skip":
		if e.Test != "" {
			c.Skipped = append(c.Skipped, name+": "+reason(c.take(name)))
		}
	case "fail":
		c.fail(e, name)
	}
}

func (c *counter) fail(e event, name string) {
	output := c.take(name)
	if e.FailedBuild != "" {
		output = c.take(e.FailedBuild) + output
	}
	if e.Test == "" {
		output = c.unfinished(e.Package) + output
	}
	if !c.broken[name] {
		c.Failed = append(c.Failed, failure{name, output})
	}
	for test := e.Test; test != ""; {
		test = parent(test)
		c.broken[fullName(e.Package, test)] = true
	}
}

// unfinished takes the output of the tests that were running when their package
// ended, as after a timeout.
func (c *counter) unfinished(pkg string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.output)) {
		if strings.HasPrefix(name, pkg+".") {
			fmt.Fprintf(&b, "%s did not end:\n%s", name, c.take(name))
		}
	}
	return b.String()
}

func (c *counter) write(name, text string) {
	if c.output[name] == nil {
		c.output[name] = &strings.Builder{}
	}
	c.output[name].WriteString(text)
}

func (c *counter) take(name string) string {
	b := c.output[name]
	delete(c.output, name)
	if b == nil {
		return ""
	}
	return b.String()
}

func fullName(pkg, test string) string {
	if test == "" {
		return pkg
	}
	return fmt.Sprintf("%s.%s", pkg, test)
}

// parent returns the test that a subtest belongs to, empty for a test.
func parent(test string) string {
	return test[:max(0, strings.LastIndexByte(test, '/'))]
}

// reason returns the line in which a test says why it skips.
func reason(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return "no reason given"
}
