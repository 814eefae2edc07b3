package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// verbs lists the commands of the binary, one per file.
var verbs = []func(*console) *cobra.Command{
	versionCommand,
}

// run executes one command line and returns the exit code of the process.
func run(args []string, c *console) int {
	ctx, stop := withInterrupt(context.Background(), c.err)
	defer stop()

	started := false
	root := rootCommand(c)
	prepare(root, &started)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		err = &usageError{cause: err}
	}
	c.complain(err)
	return exitCode(err)
}

func rootCommand(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:           "millrace",
		Short:         "Keep a training machine turning on ordinary, shared, cheap machines",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print the result as JSON on standard output")
	for _, verb := range verbs {
		root.AddCommand(verb(c))
	}
	root.InitDefaultCompletionCmd()
	return root
}

// prepare makes every command of the tree refuse arguments it did not ask for,
// makes a noun without a verb print its help, and notes when a command's own
// code starts: an error before that moment is wrong usage.
func prepare(cmd *cobra.Command, started *bool) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = knownSubcommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if cmd.Args == nil {
		cmd.Args = noArguments
	}
	if body := cmd.RunE; body != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return body(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		prepare(sub, started)
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
}

// knownSubcommand is reached with an argument only when no subcommand has that name.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return errors.New(text)
}
