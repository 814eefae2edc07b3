// Command allreduce reduces vectors between processes for the bench group. It speaks the peers' line protocol
// (bench/README.md) and starts the ranks of one library, each a process of its own, that do the work:
//
//	allreduce crew ours|gloo|mpi|kungfu    the peer that the bench talks to
//	allreduce rank                         one of our own ranks, started by a crew
//
// A row is WHAT/n=RANKS with WHAT of sizes.go. The ranks get the same requests as the crew, with the list of sizes in
// place of WHAT; a step's wall time is that of the slowest rank, its CPU time that of all together.
package main

import (
	"fmt"
	"os"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "crew":
		err = serveCrew(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "rank":
		err = serveRank()
	default:
		fmt.Fprintln(os.Stderr, "usage: allreduce crew ours|gloo|mpi|kungfu")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "allreduce:", err)
		os.Exit(1)
	}
}
