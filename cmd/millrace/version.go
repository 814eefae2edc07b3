package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"millrace.dev/internal/buildinfo"
	"millrace.dev/learn/engine/cpu"
)

func versionCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which build this is",
		RunE: func(*cobra.Command, []string) error {
			processor, _ := cpu.ReadProcessor()
			v := version{buildinfo.Read(), processor.Level}
			if err := c.result(v, v.print); err != nil {
				return err
			}
			return checkProcessor()
		},
	}
}

// version is the build and the vector instructions that it uses here.
type version struct {
	buildinfo.Build
	CPU string `json:"cpu"`
}

func (v version) print(w io.Writer) error {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "commit unknown"
	case v.Modified:
		commit += " with changes"
	}
	_, err := fmt.Fprintf(w, "millrace %s (%s)\n%s %s/%s, %s kernels\n", v.Version, commit, v.Go, v.OS, v.Arch, v.CPU)
	return err
}
