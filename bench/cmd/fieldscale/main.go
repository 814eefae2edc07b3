// Command fieldscale plans one field of the given number of sensors and prints what it took as a line of JSON. The
// field is a square with about 16 neighbours per sensor, the limit four sides; in the model free a stop costs no time, in the model
// stops 3 s and a fiftieth of a second for each packet. A sensor is then moved and the plan adapted.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"millrace.dev/field"
	"millrace.dev/field/survey"
)

// Outcome is the line that is printed.
type Outcome struct {
	Sensors   int     `json:"sensors"`
	Wall      float64 `json:"wall"`      // seconds of planning
	CPU       float64 `json:"cpu"`       // seconds of planning, collector included
	Replan    float64 `json:"replan"`    // CPU seconds of adapting the plan: mean of five
	Replanned float64 `json:"replanned"` // largest load of the adapted plan
	Megabytes float64 `json:"megabytes"` // largest resident set after planning
	Load      float64 `json:"load"`
	Bound     float64 `json:"bound"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fieldscale:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: fieldscale SENSORS free|stops")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	in, side, err := instance(n, args[1])
	if err != nil {
		return err
	}
	runtime.GC()
	out := Outcome{Sensors: n}
	start, before := time.Now(), cpu()
	plan, err := field.Solve(context.Background(), in, field.Options{Partial: true})
	if err != nil {
		return err
	}
	out.Wall, out.CPU, out.Load, out.Bound = time.Since(start).Seconds(), cpu()-before, plan.MaxLoad, plan.Certificate.Bound
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	out.Megabytes = float64(usage.Maxrss) / 1024
	in.Sensors[n/2].Pos = field.Point{X: side / 3, Y: side / 3}
	runtime.GC()
	before = cpu()
	const times = 5
	for range times {
		adapted, err := field.Replan(context.Background(), in, plan, field.Options{Partial: true})
		if err != nil {
			return err
		}
		out.Replanned = adapted.MaxLoad
	}
	out.Replan = (cpu() - before) / times
	return json.NewEncoder(os.Stdout).Encode(out)
}

// instance is a field of n sensors and its side in metres.
func instance(n int, model string) (*field.Instance, float64, error) {
	side := 600 * math.Sqrt(float64(n)/2000)
	sensors, err := survey.Generate(survey.Field{Shape: "square", N: n, Side: side, Weights: "uniform", Energy: 0.5, Seed: 1})
	if err != nil {
		return nil, 0, err
	}
	in := &field.Instance{Sensors: sensors, Range: 30, Energy: field.FirstOrder(),
		Sink: field.Sink{Speed: 1, Deadline: time.Duration(4 * side * float64(time.Second))}}
	switch model {
	case "free":
	case "stops":
		in.Sink.Turn, in.Sink.Rate = 3*time.Second, 50
	default:
		return nil, 0, fmt.Errorf("model %q is neither free nor stops", model)
	}
	return in, side, nil
}

// cpu is the CPU time of this process in seconds.
func cpu() float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return math.NaN()
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
