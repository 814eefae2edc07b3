package survey

import "fmt"

// Error is a fault in an input file.
type Error struct {
	File    string
	Line    int // from 1; 0 when the fault has no place
	Column  int // from 1, in bytes; 0 when the whole line is at fault
	Problem string
	Cause   error // may be nil
}

func (e *Error) Error() string {
	text := e.File
	if e.Line > 0 {
		text += fmt.Sprintf(":%d", e.Line)
	}
	if e.Column > 0 {
		text += fmt.Sprintf(":%d", e.Column)
	}
	text += ": " + e.Problem
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// BadInput marks the error as a fault of the data rather than of the program.
func (e *Error) BadInput() bool { return true }
