package harness

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// Spinner is a process that keeps a CPU busy.
type Spinner struct {
	cmd *exec.Cmd
}

// Spin starts "PROGRAM spin" on the CPUs and gives it a moment to get going.
func Spin(ctx context.Context, cpus, program string) (*Spinner, error) {
	cmd := exec.CommandContext(ctx, "taskset", "-c", cpus, program, "spin")
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot keep CPU %s busy: %w", cpus, err)
	}
	time.Sleep(20 * time.Millisecond)
	return &Spinner{cmd}, nil
}

// Stop ends the process.
func (s *Spinner) Stop() {
	s.cmd.Process.Kill() //nolint:errcheck // it may be gone already
	s.cmd.Wait()         //nolint:errcheck // it was killed
}
