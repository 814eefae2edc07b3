// Command bench races the product against its peers: bench NAME [--quick] [--json]. It is
// started by run.sh, which builds what it needs, in the folder bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"millrace.dev/bench/harness"
)

// suites are the benches by name. A suite fills the report with rows; main judges them.
var suites = map[string]func(context.Context, *setting, *harness.Report) error{
	"accuracy": accuracy,
	"field":    fieldPlan,
	"gemm":     gemm,
	"group":    group,
	"recovery": recovery,
	"step":     step,
}

// setting is what every suite needs to know.
type setting struct {
	quick bool
	cpus  []int
	dir   string // absolute path of the folder bench
}

// pause is how long the machine is watched for what others do on it.
const pause = 300 * time.Millisecond

// workDir holds built peers, their logs and their caches.
const workDir = "work"

func main() {
	quick := flag.Bool("quick", false, "take a minute or two: fewer, shorter bursts, no compiled PyTorch, nothing written")
	asJSON := flag.Bool("json", false, "print one JSON object per row")
	flag.Usage = usage
	name, err := parse(os.Args[1:])
	suite := suites[name]
	if err != nil || suite == nil {
		usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	missed, err := run(ctx, name, suite, *quick, *asJSON)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
		os.Exit(1)
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "bench %s: %d rows miss their bar\n", name, missed)
		os.Exit(1)
	}
}

// parse lets flags stand on either side of the name.
func parse(args []string) (string, error) {
	flag.CommandLine.Init("bench", flag.ContinueOnError)
	if err := flag.CommandLine.Parse(args); err != nil {
		return "", err
	}
	name := flag.Arg(0)
	if flag.NArg() > 1 {
		if err := flag.CommandLine.Parse(flag.Args()[1:]); err != nil {
			return "", err
		}
		if flag.NArg() > 0 {
			return "", errors.New("more than one name")
		}
	}
	return name, nil
}

func usage() {
	var names []string
	for n := range suites {
		names = append(names, n)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: bench/run.sh %s [--quick] [--json]\n", strings.Join(names, "|"))
	flag.PrintDefaults()
}

func run(ctx context.Context, name string, suite func(context.Context, *setting, *harness.Report) error, quick, asJSON bool) (int, error) {
	bars, err := harness.LoadBars("bars.yaml")
	if err != nil {
		return 0, err
	}
	cpus, err := harness.AllowedCPUs()
	if err != nil {
		return 0, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	report := &harness.Report{Bench: name}
	before := harness.Busy(pause)
	if err := suite(ctx, &setting{quick: quick, cpus: cpus, dir: dir}, report); err != nil {
		return 0, err
	}
	report.Machine = append(report.Machine, "millrace at commit "+commit())
	others := max(before, harness.Busy(pause))
	report.Machine = append(report.Machine, fmt.Sprintf("other processes used %.0f %% of the CPUs right before or after the run", 100*others))
	if others > 0.1 {
		fmt.Fprintln(os.Stderr, "  the machine is busy: figures with two threads are not to be trusted")
	}
	if err := bars.Judge(name, report.Rows, !quick); err != nil {
		return 0, err
	}
	if !quick {
		if err := write(report, filepath.Join("results", name+".md")); err != nil {
			return 0, err
		}
	}
	if asJSON {
		err = report.JSON(os.Stdout)
	} else {
		err = report.Markdown(os.Stdout)
	}
	return report.Missed(), err
}

// commit is the version that was built, as far as the build knows it.
func commit() string {
	id, changed := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				id = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
	}
	return id + changed
}

// write replaces a results file in one move.
func write(report *harness.Report, name string) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := report.Markdown(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// progress tells a watcher what is being measured.
func progress(what string) { fmt.Fprintf(os.Stderr, "  %s\n", what) }
