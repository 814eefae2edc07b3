// Command millrace trains, feeds, plans and serves: one binary, one file per
// verb, each of which only wires packages of this module to the command line.
//
// Every verb answers to --json, writes results to standard output and remarks
// and progress to standard error, and ends with one of the exit codes of
// exit.go. See docs/ for the manual.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], newConsole(os.Stdout, os.Stderr)))
}
