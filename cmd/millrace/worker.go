package main

import (
	"os"

	"github.com/spf13/cobra"

	"millrace.dev/cmd/millrace/internal/crew"
)

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Train as one of several workers; millrace train --workers starts it",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return crew.Work(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}
