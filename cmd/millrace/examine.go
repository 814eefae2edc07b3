package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"millrace.dev/group"
	"millrace.dev/group/shm"
	"millrace.dev/internal/host"
	"millrace.dev/internal/rundir"
	"millrace.dev/learn/data"
	"millrace.dev/learn/engine/cpu"
)

// examinations are what doctor looks at, in this order.
var examinations = []func() []finding{
	examineProcessor, examineCores, examineWorkers, examineMemory, examineSpace, examineFiles, examineClock, examineData,
}

// Below these a finding comes with advice.
const (
	littleMemory = 1 << 30
	littleSpace  = 1 << 30
	fewFiles     = 1024
)

func examineProcessor() []finding {
	p, err := cpu.ReadProcessor()
	f := finding{Name: "processor", State: good, Found: fmt.Sprintf("%s kernels, caches of %s, %s and %s",
		p.Level, size(uint64(p.L1d)), size(uint64(p.L2)), size(uint64(p.L3)))}
	switch {
	case err != nil:
		f.State, f.Advice = unusable, err.Error()
	case p.Level != p.Best:
		f.State, f.Advice = better, "MILLRACE_CPU keeps it from using "+p.Best
	}
	return []finding{f}
}

func examineCores() []finding {
	cores, used := runtime.NumCPU(), runtime.GOMAXPROCS(0)
	f := finding{Name: "cores", State: good, Found: fmt.Sprintf("%d, of which %d are used", cores, used)}
	if used < cores {
		f.State = better
		f.Advice = "a control group's quota or the variable GOMAXPROCS keeps the other cores unused"
	}
	return []finding{f}
}

// examineWorkers looks how several processes would train together here.
func examineWorkers() []finding {
	f := finding{Name: "workers", State: good, Found: fmt.Sprintf("%d with a core each, which share memory", runtime.GOMAXPROCS(0))}
	door, err := shm.Open(uint64(group.NewID()))
	if err != nil {
		f.State, f.Found = better, "they cannot share memory: "+err.Error()
		f.Advice = "train --workers sends gradients through sockets instead, which is slower"
		return []finding{f}
	}
	if err := door.Close(); err != nil {
		f.State, f.Advice = better, err.Error()
	}
	return []finding{f}
}

func examineMemory() []finding {
	m, err := host.ReadMemory()
	if err != nil {
		return []finding{{"memory", better, "unknown", err.Error()}}
	}
	f := finding{Name: "memory", State: good, Found: size(m.Limit) + " may be used"}
	if m.Source != "" {
		f.Found += fmt.Sprintf(" of %s (%s)", size(m.Total), m.Source)
	}
	if soft := debug.SetMemoryLimit(-1); soft != math.MaxInt64 {
		f.Found += fmt.Sprintf(", GOMEMLIMIT is %s", size(uint64(soft)))
	}
	if m.Limit < littleMemory {
		f.State, f.Advice = better, "give the process at least "+size(littleMemory)
	}
	return []finding{f}
}

func examineSpace() []finding {
	runs := rundir.Root
	if _, err := os.Stat(runs); err != nil {
		runs = "." // runs/ is made there by the first run
	}
	return []finding{
		examineDirectory("run directory", runs, "change to a directory that you may write, or give --out"),
		examineDirectory("temporary directory", os.TempDir(), "set TMPDIR to a directory that you may write"),
	}
}

func examineDirectory(name, dir, advice string) finding {
	probe, err := os.CreateTemp(dir, ".millrace-doctor-")
	if err != nil {
		return finding{name, unusable, err.Error(), advice}
	}
	probe.Close()
	os.Remove(probe.Name())
	space, err := host.DiskSpace(dir)
	if err != nil {
		return finding{name, better, dir, err.Error()}
	}
	f := finding{name, good, fmt.Sprintf("%s has %s free of %s", dir, size(space.Free), size(space.Total)), ""}
	if space.Free < littleSpace {
		f.State, f.Advice = better, "free at least "+size(littleSpace)
	}
	return f
}

func examineFiles() []finding {
	soft, hard, err := host.OpenFiles()
	if err != nil {
		return []finding{{"open files", better, "unknown", err.Error()}}
	}
	f := finding{"open files", good, fmt.Sprintf("%d at once", soft), ""}
	if soft < fewFiles {
		f.State, f.Advice = better, fmt.Sprintf("raise it with ulimit -n %d", min(hard, 4*fewFiles))
	}
	return []finding{f}
}

func examineClock() []finding {
	now := time.Now()
	f := finding{"clock", good, now.UTC().Format(time.RFC3339), ""}
	synchronised, err := host.ClockSynchronised()
	switch {
	case err != nil:
		f.Found += ", " + err.Error()
	case synchronised:
		f.Found += ", synchronised"
	default:
		f.State, f.Found = better, f.Found+", not synchronised"
		f.Advice = "run a time service such as chrony: times of several machines cannot be compared"
	}
	return []finding{f}
}

func examineData() (findings []finding) {
	for _, set := range data.List() {
		f := finding{"data set " + set.Name, good, set.Origin, ""}
		if set.Origin == "" {
			f.State, f.Found, f.Advice = better, "not here", set.Advice
		}
		findings = append(findings, f)
	}
	return findings
}
