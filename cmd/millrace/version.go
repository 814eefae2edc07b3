package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"millrace.dev/internal/buildinfo"
)

func versionCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which build this is",
		RunE: func(*cobra.Command, []string) error {
			build := buildinfo.Read()
			return c.result(build, func(w io.Writer) error { return printBuild(w, build) })
		},
	}
}

func printBuild(w io.Writer, b buildinfo.Build) error {
	commit := b.Commit
	switch {
	case commit == "":
		commit = "commit unknown"
	case b.Modified:
		commit += " with changes"
	}
	_, err := fmt.Fprintf(w, "millrace %s (%s)\n%s %s/%s\n", b.Version, commit, b.Go, b.OS, b.Arch)
	return err
}
