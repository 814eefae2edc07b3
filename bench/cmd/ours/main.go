// Command ours is our side of the races: it speaks the peers' line protocol (bench/README.md)
// over the product's public packages. Its argument is the number of threads.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"millrace.dev/learn/engine/cpu"
)

func main() {
	threads := 0
	if len(os.Args) == 2 {
		threads, _ = strconv.Atoi(os.Args[1])
	}
	if threads < 1 {
		fmt.Fprintln(os.Stderr, "usage: ours THREADS")
		os.Exit(2)
	}
	if err := run(threads); err != nil {
		fmt.Fprintln(os.Stderr, "ours:", err)
		os.Exit(1)
	}
}

func run(threads int) error {
	engine, err := cpu.New(threads)
	if err != nil {
		return err
	}
	defer engine.Close()
	settings := fmt.Sprintf("%d thread(s), GOMAXPROCS %d", threads, runtime.GOMAXPROCS(0))
	if level := os.Getenv("MILLRACE_CPU"); level != "" {
		settings += ", MILLRACE_CPU=" + level
	}
	return serve(os.Stdin, os.Stdout, peerInfo{"millrace", runtime.Version(), settings}, builder{engine}.build)
}
