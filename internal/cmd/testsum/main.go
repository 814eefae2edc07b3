// Command testsum runs the stages of test.sh, shows what fails and counts.
//
//	testsum tests LOG STAGE COMMAND…   COMMAND is go test -json: each test counts
//	testsum check LOG STAGE COMMAND…   COMMAND counts as one test: it exits 0 or it failed
//	testsum report LOG                 the failures again, and N passed, N failed
//
// Each stage prints its name, its time and, at once, the output of what
// failed; what passes is not heard of again. The tallies of the stages are
// appended to the file LOG, from which report adds them up. A failed stage
// does not end the run: only report exits with 1.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "report":
		return report(args[1], w)
	case len(args) < 4 || args[0] != "tests" && args[0] != "check":
		return fmt.Errorf("usage: testsum tests|check LOG STAGE COMMAND… or testsum report LOG")
	}
	start := time.Now()
	count := check
	if args[0] == "tests" {
		count = tests
	}
	t := count(args[2], exec.Command(args[3], args[4:]...))
	fmt.Fprintf(w, "%-44s %5d passed %3d failed %7.1f s\n", t.Stage, t.Passed, len(t.Failed), time.Since(start).Seconds())
	for _, note := range t.Slow {
		fmt.Fprintf(w, "     %s\n", note)
	}
	for _, f := range t.Failed {
		f.print(w)
	}
	return t.append(args[1])
}
