package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"millrace.dev/fabric/keys"
)

// keyLife is how long keys are valid, if nothing else is asked for.
const keyLife = 2 * 365 * 24 * time.Hour

func clusterCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Make what machines need to trust each other",
	}
	cmd.AddCommand(clusterKeysCommand(c))
	return cmd
}

func clusterKeysCommand(c *console) *cobra.Command {
	life := keyLife
	cmd := &cobra.Command{
		Use:   "keys DIR NAME…",
		Short: "Make the keys of machines that train together",
		Long: `Make the keys of machines that train together. In DIR, which is made, or already holds
keys and gets more, there will be

  ca.crt, ca.key        the authority; whoever has ca.key can let machines in
  NAME.crt, NAME.key    for each machine

A NAME is what you call a machine, or for a NATS server that keeps the membership (--cluster) the
host name or address by which it is reached.

A machine needs ca.crt and its own two files. Keep ca.key where it is made. Whoever holds a
machine's files is trusted; all connections beyond a machine are encrypted and need them.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exactly("DIR", "NAME")(cmd, args)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return makeKeys(c, args[0], args[1:], life) },
	}
	cmd.Flags().DurationVar(&life, "valid", life, "how long the keys are")
	return cmd
}

// madeKeys is what cluster keys prints.
type madeKeys struct {
	Directory string   `json:"directory"`
	Machines  []string `json:"machines"`
}

func makeKeys(c *console, dir string, names []string, life time.Duration) error {
	if life <= 0 {
		return usagef("--valid must be more than 0")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return badInputf("%w", err)
	}
	authority, err := keys.OpenAuthority(dir)
	if _, missing := os.Stat(filepath.Join(dir, "ca.key")); errors.Is(missing, fs.ErrNotExist) {
		authority, err = keys.CreateAuthority(dir, "millrace", life)
	}
	if err != nil {
		return badInputf("%w", err)
	}
	for _, name := range names {
		if err := authority.Issue(dir, name, life); err != nil {
			return badInputf("%w", err)
		}
	}
	return c.result(madeKeys{dir, names}, func(w io.Writer) error { return printKeys(w, dir, names) })
}

func printKeys(w io.Writer, dir string, names []string) error {
	for _, name := range names {
		if _, err := fmt.Fprintf(w, "%s: copy ca.crt, %s.crt and %s.key of %s there, and give --keys DIR/%s\n", name, name, name, dir, name); err != nil {
			return err
		}
	}
	return nil
}
