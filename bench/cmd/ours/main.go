// Command ours is our side of the races: it speaks the peers' line protocol (bench/README.md)
// over the product's public packages. Its argument is the number of threads.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
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
	info := peerInfo{Name: "millrace", Version: runtime.Version(), Settings: fmt.Sprintf("%d thread(s)", threads)}
	if err := serve(os.Stdin, os.Stdout, info, builder{threads}.build); err != nil {
		fmt.Fprintln(os.Stderr, "ours:", err)
		os.Exit(1)
	}
}
