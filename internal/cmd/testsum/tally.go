package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// tally is what one stage brought.
type tally struct {
	Stage   string
	Passed  int
	Failed  []failure
	Skipped []string
	Slow    []string // packages that took long, and how long
}

// failure is one test, package or command that failed, with what it printed.
type failure struct {
	Name   string
	Output string
}

func (f failure) print(w io.Writer) {
	fmt.Fprintf(w, "FAIL %s\n", f.Name)
	for line := range strings.Lines(f.Output) {
		fmt.Fprintf(w, "     %s\n", strings.TrimRight(line, "\r\n"))
	}
}

func (t tally) append(log string) error {
	file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(t), file.Close())
}

// report adds up the tallies. It fails when a test did, and when there was none.
func report(log string, w io.Writer) error {
	file, err := os.Open(log)
	if err != nil {
		return err
	}
	defer file.Close()
	var passed, failed int
	var skipped []string
	for decoder := json.NewDecoder(file); ; {
		var t tally
		if err := decoder.Decode(&t); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
		passed, failed = passed+t.Passed, failed+len(t.Failed)
		skipped = append(skipped, t.Skipped...)
		for _, f := range t.Failed {
			f.Name = t.Stage + ": " + f.Name
			f.print(w)
		}
	}
	for _, name := range skipped {
		fmt.Fprintf(w, "skipped %s\n", name)
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	switch {
	case failed > 0:
		return errors.New("some tests failed")
	case passed == 0:
		return errors.New("there were no tests")
	}
	return nil
}
