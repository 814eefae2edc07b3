package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// console is what a verb talks through: results go to out, remarks and
// progress to err.
type console struct {
	out, err io.Writer
	json     bool   // print results as JSON
	width    int    // columns of the terminal behind err, 0 when it is none
	verb     string // the command as it was called, as in "millrace data info"
}

func newConsole(out, err *os.File) *console {
	c := &console{out: out, err: err}
	if width, _, failed := term.GetSize(int(err.Fd())); failed == nil {
		c.width = width
	}
	return c
}

// result prints value as JSON when --json was given, else lets text write it
// for people.
func (c *console) result(value any, text func(w io.Writer) error) error {
	if !c.json {
		return text(c.out)
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// remark writes one line for people to standard error.
func (c *console) remark(format string, args ...any) {
	fmt.Fprintf(c.err, "millrace: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// complain prints an error as one line.
func (c *console) complain(err error) {
	switch {
	case err == nil || readerLeft(err):
	case exitCode(err) == exitUsage:
		c.remark("%v (see %s --help)", err, cmp.Or(c.verb, "millrace"))
	case exitCode(err) == exitInterrupted:
		c.remark("%s", strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
	default:
		c.remark("%v", err)
	}
}

// readerLeft tells whether a result could not be written because who read it, such as head, has
// seen enough.
func readerLeft(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && failed.Path == os.Stdout.Name() && errors.Is(err, syscall.EPIPE)
}

// attentive remembers the first failed write: some libraries do not tell of it.
type attentive struct {
	io.Writer
	failed error
}

func (a *attentive) Write(p []byte) (int, error) {
	n, err := a.Writer.Write(p)
	if a.failed == nil {
		a.failed = err
	}
	return n, err
}

// shellWord quotes a path for a command line to copy, where it needs that.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%=", r)
	}
	if path != "" && strings.TrimFunc(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// oneLine folds the line breaks that some libraries put into their errors.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
