package main

import (
	"context"
	"fmt"

	"millrace.dev/group"
	"millrace.dev/group/collective"
)

// loadInPlace reduces ordinary buffers by calls of a group's workers, those of several tensors side by side. All rows share
// one group, which takes no steps.
func (m *member) loadInPlace(sizes []int) (*job, error) {
	if m.caller == nil {
		w, err := m.startWorker(1)
		if err != nil {
			return nil, err
		}
		m.caller = w
	}
	w, bufs, names := m.caller.Worker, make([][]float32, len(sizes)), make([]string, len(sizes))
	for i, n := range sizes {
		bufs[i] = filled(n, float32(m.rank+1))
		names[i] = fmt.Sprintf("row %d, tensor %d", m.rows, i)
	}
	step := func() error { return sideBySide(w, names, bufs) }
	if len(sizes) == 1 {
		step = func() error { return group.AllReduce(context.Background(), w, names[0], bufs[0], collective.Sum) }
	}
	check := func() error {
		for _, b := range bufs {
			if want := float32(m.n*(m.n+1)) / 2; b[0] != want || b[len(b)-1] != want {
				return fmt.Errorf("the sum is %g, not %g", b[0], want)
			}
			clear(b)
		}
		return nil
	}
	return &job{step: step, check: check, close: func() {}}, nil
}

// sideBySide starts the calls of all tensors, the last first, as a training step does, and waits for them.
func sideBySide(w *group.Worker, names []string, bufs [][]float32) error {
	calls := make([]*collective.Call, len(bufs))
	for i := len(bufs) - 1; i >= 0; i-- {
		c, err := w.Call(context.Background(), collective.Request{
			Name: names[i], Kind: collective.AllReduce, Op: collective.Sum, Dst: collective.Of(bufs[i]),
		})
		if err != nil {
			return err
		}
		calls[i] = c
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if err := calls[i].Wait(context.Background()); err != nil {
			return err
		}
		<-calls[i].Released()
	}
	return nil
}

func filled(n int, v float32) []float32 {
	b := make([]float32, n)
	for i := range b {
		b[i] = v
	}
	return b
}
