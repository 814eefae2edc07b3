package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// runner does so many steps and returns a value that depends on their result.
type runner func(steps int) (float64, error)

type peerInfo struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Settings string `json:"settings"`
}

// burst is the answer to "run".
type burst struct {
	Wall    float64 `json:"wall"`
	CPU     float64 `json:"cpu"`
	Steps   int     `json:"steps"`
	Loss    float64 `json:"loss"`
	Mallocs uint64  `json:"mallocs"`
	GC      uint32  `json:"gc"`
}

// warmUp is the number of steps under "load".
const warmUp = 8

// loaded is the answer to "load".
type loaded struct {
	Loss   float64 `json:"loss"`
	Params int     `json:"params"` // numbers that a step trains
}

// serve answers requests until in ends.
func serve(in io.Reader, out io.Writer, info peerInfo, build func(row, variant string) (runner, int, error)) error {
	runners := map[string]runner{}
	answers := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		reply, err := answer(strings.Fields(lines.Text()), info, runners, build)
		if err != nil {
			reply = map[string]string{"error": err.Error()}
		}
		if err := answers.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answer(words []string, info peerInfo, runners map[string]runner, build func(row, variant string) (runner, int, error)) (any, error) {
	if len(words) == 1 && words[0] == "info" {
		return info, nil
	}
	if len(words) < 3 {
		return nil, fmt.Errorf("unknown request %q", words)
	}
	row, variant := words[1], words[2]
	key := row + " " + variant
	switch words[0] {
	case "load", "first":
		run, params, err := build(row, variant)
		if err != nil {
			return nil, err
		}
		runners[key] = run
		steps := 1
		if words[0] == "load" {
			steps = warmUp
		}
		loss, err := run(steps)
		return loaded{loss, params}, err
	case "drop":
		delete(runners, key)
		runtime.GC()
		return struct{}{}, nil
	case "run":
		run := runners[key]
		if run == nil || len(words) < 4 {
			return nil, fmt.Errorf("%q has not been loaded or lacks a number of steps", key)
		}
		steps, err := strconv.Atoi(words[3])
		if err != nil {
			return nil, err
		}
		return measure(run, steps)
	}
	return nil, fmt.Errorf("unknown request %q", words)
}

func measure(run runner, steps int) (burst, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, wall := cpuSeconds(), time.Now()
	loss, err := run(steps)
	b := burst{Wall: time.Since(wall).Seconds(), CPU: cpuSeconds() - cpu, Steps: steps, Loss: loss}
	runtime.ReadMemStats(&after)
	b.Mallocs, b.GC = after.Mallocs-before.Mallocs, after.NumGC-before.NumGC
	return b, err
}

// cpuSeconds is the CPU time of the whole process.
func cpuSeconds() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return float64(t.Sec) + 1e-9*float64(t.Nsec)
}
