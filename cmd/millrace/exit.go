package main

import (
	"context"
	"errors"
	"fmt"
)

// Exit codes of every verb.
const (
	exitDone        = 0
	exitFailed      = 1   // the work was understood but could not be done
	exitUsage       = 2   // unknown flag, argument or value on the command line
	exitBadInput    = 3   // a file, data set or directory that was named cannot be used
	exitInterrupted = 130 // stopped by Ctrl-C, SIGTERM or a closed terminal
)

// exitCode maps an error to the exit code of the process. An interruption
// comes first: what fails because its context ended was interrupted, whatever
// it calls the failure. Bad input is whatever says so through a method
// BadInput() bool anywhere in the error's chain, so that packages need not
// import this one.
func exitCode(err error) int {
	var usage *usageError
	var bad interface{ BadInput() bool }
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &bad) && bad.BadInput():
		return exitBadInput
	}
	return exitFailed
}

// usageError is a command line that cannot be understood.
type usageError struct{ cause error }

func (e *usageError) Error() string { return e.cause.Error() }
func (e *usageError) Unwrap() error { return e.cause }

// usagef reports wrong usage that only the verb itself can see, such as two
// flags that exclude each other.
func usagef(format string, args ...any) error {
	return &usageError{cause: fmt.Errorf(format, args...)}
}

// stoppedError is an interruption that says all there is to say.
type stoppedError struct{ text string }

func (e *stoppedError) Error() string { return e.text }
func (e *stoppedError) Unwrap() error { return context.Canceled }

// inputError is bad input found by a verb itself rather than by a package.
type inputError struct{ cause error }

func (e *inputError) Error() string  { return e.cause.Error() }
func (e *inputError) Unwrap() error  { return e.cause }
func (e *inputError) BadInput() bool { return true }

// badInputf reports an input file, data set or directory that cannot be used.
func badInputf(format string, args ...any) error {
	return &inputError{cause: fmt.Errorf(format, args...)}
}
