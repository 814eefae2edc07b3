// Command millrace trains networks, alone or with many workers, and plans how
// to collect data in the field: one binary, one file per verb, each of which
// only wires packages of this module to the command line.
//
// Every verb answers to --json, writes results to standard output and remarks
// and progress to standard error, and ends with one of the exit codes of
// exit.go. See docs/ for the manual.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader of progress or results that goes away costs a failed write, not the run.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], newConsole(os.Stdout, os.Stderr)))
}
