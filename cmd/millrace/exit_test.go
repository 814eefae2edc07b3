package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

type fault struct{ bad bool }

func (fault) Error() string    { return "fault" }
func (f fault) BadInput() bool { return f.bad }

func TestExitCode(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{plain, exitFailed},
		{usagef("both --a and --b"), exitUsage},
		{fmt.Errorf("reading: %w", badInputf("x.csv:3: %w", plain)), exitBadInput},
		{fmt.Errorf("reading: %w", fault{true}), exitBadInput},
		{fault{false}, exitFailed},
		{errors.Join(plain, fault{true}), exitBadInput},
		{context.Canceled, exitInterrupted},
		{badInputf("x.csv: %w", context.Canceled), exitInterrupted},
		{context.DeadlineExceeded, exitFailed},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	cause := errors.New("cause")
	for _, err := range []error{usagef("a: %w", cause), badInputf("a: %w", cause)} {
		if !errors.Is(err, cause) || err.Error() != "a: cause" {
			t.Errorf("%T: %v", err, err)
		}
	}
}
