package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"millrace.dev/group"
	"millrace.dev/group/reduce"
)

// loadGroup makes this rank a worker of a group of its own. A step is a whole one, commit included.
func (m *member) loadGroup(sizes []int) (*job, error) {
	total := 0
	for _, n := range sizes {
		total += n
	}
	w, err := m.startWorker(total)
	if err != nil {
		return nil, err
	}
	for i := range w.Gradients() {
		w.Gradients()[i] = float32(m.rank + 1)
	}
	var result group.Result
	step := func() (err error) {
		s, err := w.Begin(context.Background())
		if err != nil {
			return err
		}
		s.Weigh(1)
		hi := total
		for i := len(sizes) - 1; i >= 0; i-- {
			s.Ready(hi-sizes[i], hi)
			hi -= sizes[i]
		}
		result, err = s.Commit(context.Background(), group.Report{})
		return err
	}
	check := func() error {
		want := float32(m.n*(m.n+1)/2) * reduce.Scale(uint64(m.n))
		if r := result.Mean; result.Outcome != group.Apply || r[0] != want || r[total-1] != want {
			return fmt.Errorf("step %d is to %v, and the mean is %g, not %g", result.Step, result.Outcome, r[0], want)
		}
		return nil
	}
	return &job{step: step, check: check, share: func(int) float64 { return resident() }, close: w.close}, nil
}

// resident is how many MiB of memory this process takes, of pages that several have mapped its part of each; 0 where the
// system does not say.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "Pss: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	return 0
}
