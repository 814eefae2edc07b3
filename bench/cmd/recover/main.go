// Command recover kills workers of a group, each a process of its own, and measures how long the others take to commit
// a step again, for the bench recovery:
//
//	recover group -workers 4 -authority service -aim random -kills 10    our own workers
//	recover torchrun -workers 4 -kills 2                                 torchrun's, restarted by its elastic agent
//	recover worker                                                       one of our own, started by a group
//
// It prints a line of JSON per kill (type kill) and one at the end (type total), which says whether a serial run over
// the step logs ends with the same bits.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	var err error
	switch flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError); os.Args[1] {
	case "group":
		h := hunt{tell: tell}
		flags.IntVar(&h.workers, "workers", 4, "")
		flags.IntVar(&h.kills, "kills", 10, "")
		flags.IntVar(&h.elements, "elements", 25_000_000, "of the gradient")
		flags.StringVar(&h.authority, "authority", "service", "service or majority")
		flags.StringVar(&h.aim, "aim", "random", "random, reduce, token, view, join or freeze")
		flags.BoolVar(&h.apart, "apart", false, "as if each worker had a machine of its own: over sockets")
		flags.Uint64Var(&h.seed, "seed", 1, "of what is random")
		_ = flags.Parse(os.Args[2:]) // exits on an error
		err = h.run()
	case "torchrun":
		e := elastic{tell: tell}
		flags.IntVar(&e.workers, "workers", 4, "")
		flags.IntVar(&e.kills, "kills", 2, "")
		flags.StringVar(&e.python, "python", ".venv/bin/python", "")
		flags.StringVar(&e.script, "script", "group/torch_elastic.py", "")
		_ = flags.Parse(os.Args[2:])
		err = e.run()
	case "worker":
		err = serveWorker(os.Stdin, os.Stdout)
	default:
		usage()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recover:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: recover group|torchrun [-workers N] [-kills N] ...")
	os.Exit(2)
}

// kill is what followed a kill; times in milliseconds after it. Those of several survivors are the latest.
type kill struct {
	Type  string  `json:"type"`            // kill
	Aim   string  `json:"aim"`             // at what it was aimed
	Phase string  `json:"phase"`           // what the victim was doing
	Lost  float64 `json:"lost,omitempty"`  // all know
	Asked float64 `json:"asked,omitempty"` // the authority is asked
	Ruled float64 `json:"ruled,omitempty"` // and has answered
	View  float64 `json:"view,omitempty"`  // the new view is in force
	Plane float64 `json:"plane,omitempty"` // data can move in it
	First float64 `json:"first"`           // the first worker has committed a step in it
	All   float64 `json:"all"`             // all have
}

// total is about all kills of a run.
type total struct {
	Type    string  `json:"type"` // total
	Steps   int     `json:"steps"`
	Samples uint64  `json:"samples"`
	Step    float64 `json:"step"`    // median milliseconds of an undisturbed step
	Compute float64 `json:"compute"` // of its computation
	Reduce  float64 `json:"reduce"`  // from the last part of the gradient to the commit
	// Milliseconds of steps of members: undisturbed ones, those in which a newcomer is let in, and those between that and
	// the first one of which it takes a share.
	Quiet     []float64 `json:"quiet,omitempty"`
	Entering  []float64 `json:"entering,omitempty"`
	Following []float64 `json:"following,omitempty"`
	Version   string    `json:"version"`  // of the peer
	Verified  string    `json:"verified"` // what was checked; a failed check is an error
}

// tell prints a result.
func tell(result any) {
	json.NewEncoder(os.Stdout).Encode(result) //nolint:errcheck // whoever reads misses it
}
