package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// patientVariable gives the test binary the verb "patient" and makes it run as
// millrace.
const patientVariable = "MILLRACE_TEST_PATIENT"

// patientCommand waits for an interruption and then saves something, for ever
// if it is told to be stubborn.
func patientCommand(c *console) *cobra.Command {
	var stubborn bool
	cmd := &cobra.Command{Use: "patient", RunE: func(cmd *cobra.Command, _ []string) error {
		fmt.Fprintln(c.out, "waiting")
		<-cmd.Context().Done()
		for stubborn {
			time.Sleep(time.Hour)
		}
		fmt.Fprintln(c.out, "saved")
		return fmt.Errorf("step 12 of 20: %w", cmd.Context().Err())
	}}
	cmd.Flags().BoolVar(&stubborn, "stubborn", false, "")
	return cmd
}

// interrupt starts the patient verb, sends it signals, and returns its exit
// code and its output after the first line.
func interrupt(t *testing.T, signals []os.Signal, args ...string) (code int, out, remarks string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"patient"}, args...)...)
	cmd.Env = append(os.Environ(), patientVariable+"=1")
	stdout, _ := cmd.StdoutPipe()
	stderr, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(long, func() { cmd.Process.Kill() })
	defer limit.Stop()
	lines, said := bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	lines.Scan()
	for i, s := range signals {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			said.Scan() // the remark that the first one was seen
			remarks = said.Text() + "\n"
		}
	}
	for lines.Scan() {
		out += lines.Text() + "\n"
	}
	for said.Scan() {
		remarks += said.Text() + "\n"
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out, remarks
}

func TestInterruptedOnceEndsGracefully(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		code, out, remarks := interrupt(t, []os.Signal{s})
		if code != exitInterrupted || out != "saved\n" {
			t.Errorf("%v: exit code %d, output %q", s, code, out)
		}
		if !strings.HasSuffix(remarks, "millrace: step 12 of 20: interrupted\n") || strings.Count(remarks, "\n") != 2 {
			t.Errorf("%v: %q", s, remarks)
		}
	}
}

func TestTerminalClosedTwiceEndsGracefully(t *testing.T) {
	for range 3 {
		code, out, _ := interrupt(t, []os.Signal{syscall.SIGHUP, syscall.SIGHUP})
		if code != exitInterrupted || out != "saved\n" {
			t.Errorf("exit code %d, output %q", code, out)
		}
	}
}

func TestInterruptedTwiceEndsNow(t *testing.T) {
	code, out, _ := interrupt(t, []os.Signal{os.Interrupt, os.Interrupt}, "--stubborn")
	if code != exitInterrupted || out != "" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}
