package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func doctorCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Examine this machine: processor, memory, disk, data sets, clock",
		Long: `Examine this machine and say what millrace finds: which vector instructions it
uses, how many cores and how much memory it may use, whether there is room for
runs and temporary files, which data sets are here. Each finding that could be
better comes with advice. The exit code is 1 when something is unusable.`,
		RunE: func(*cobra.Command, []string) error { return doctor(c) },
	}
}

// state grades a finding.
type state string

const (
	good     state = "ok"
	better   state = "advice"   // works, could be better
	unusable state = "unusable" // a run would fail
)

// finding is one thing that doctor looked at.
type finding struct {
	Name   string `json:"name"`
	State  state  `json:"state"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

func doctor(c *console) error {
	var findings []finding
	for _, examine := range examinations {
		findings = append(findings, examine()...)
	}
	if err := c.result(findings, func(w io.Writer) error { return printFindings(w, findings) }); err != nil {
		return err
	}
	return verdict(findings)
}

func verdict(findings []finding) error {
	for _, f := range findings {
		if f.State == unusable {
			return fmt.Errorf("%s is unusable: %w", f.Name, errors.New(f.Advice))
		}
	}
	return nil
}

func printFindings(w io.Writer, findings []finding) error {
	rows := make([][]string, 0, len(findings))
	for _, f := range findings {
		rows = append(rows, []string{f.Name, string(f.State), f.Found})
		if f.Advice != "" {
			rows = append(rows, []string{"", "", "→ " + f.Advice})
		}
	}
	return table(w, []string{"WHAT", "STATE", "FOUND"}, rows)
}
