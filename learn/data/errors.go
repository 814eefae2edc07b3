package data

import (
	"fmt"
	"strings"
)

// InputError says where a piece of input is wrong. It is the one error type for
// anything a user can mend in the data: files, labels, samples, names.
type InputError struct {
	File   string // file, or the name of the data set when there is no single file
	Line   int    // from 1; 0 when the format has no lines
	Column int    // from 1; 0 when unknown
	Offset int64  // byte offset into the decompressed content; -1 when unknown
	Field  string // header field, column, array or sample at fault; may be empty
	Err    error  // what is wrong
}

// Error gives "file:line:column: field: problem", or "file: at byte N: field: problem".
func (e *InputError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	if e.Line == 0 && e.Offset >= 0 {
		fmt.Fprintf(&b, ": at byte %d", e.Offset)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// BadInput marks the error as one of the input, not of the program.
func (e *InputError) BadInput() bool { return true }

// wrongFile reports a fault of a whole file or data set.
func wrongFile(file, format string, args ...any) error {
	return &InputError{File: file, Offset: -1, Err: fmt.Errorf(format, args...)}
}

// wrongField reports a fault of a named part of a file or data set.
func wrongField(file, field, format string, args ...any) error {
	return &InputError{File: file, Offset: -1, Field: field, Err: fmt.Errorf(format, args...)}
}

// wrongByte reports a fault at a byte offset.
func wrongByte(file string, offset int64, field, format string, args ...any) error {
	return &InputError{File: file, Offset: offset, Field: field, Err: fmt.Errorf(format, args...)}
}

// wrongCell reports a fault at a line and column.
func wrongCell(file string, line, column int, field, format string, args ...any) error {
	return &InputError{File: file, Line: line, Column: column, Offset: -1, Field: field, Err: fmt.Errorf(format, args...)}
}
