package main

import (
	"os"

	"github.com/spf13/cobra"

	"millrace.dev/cmd/millrace/internal/crew"
)

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Train as one of several workers; millrace train --workers starts it",
		Long: `Train as one of several workers. millrace train --workers and --join start this as their
children, and tell each on its standard input what to do; nobody else needs to.`,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return crew.Work(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}
